/** Signals and halts by server-sent events: each at least once, in order, across broken connections. */
import { connect, headersOf, OpenBrainError, refusal, type OpenBrain, type Server } from "./connection.js";
import type { components } from "./schema.js";
import { events, type ServerSentEvent } from "./events.js";

type State = components["schemas"]["AmygdalaState"];
type OpenSignal = State["signals"][number];
type Halt = State["halts"][number];

/** A signal as it stands after broadcast `seq`. `halt`: everyone in `halt_scope` stands still. */
export interface Signal {
  seq: number;
  signal_id: string;
  state: string;
  severity: string;
  title: string;
  content: string;
  source: string;
  halt: boolean;
  halt_id?: string | null;
  halt_state?: string | null;
  halt_scope?: string | null;
  org?: string | null;
  project?: string | null;
}

export interface SubscriberOptions extends Server {
  /** One signal at a time, in order of `seq`; called again, five times in all, where it throws. */
  onSignal: (signal: Signal) => void | Promise<void>;
  /** Everything up to this number is handled: give it as `after` at the next start. */
  onCursor?: (seq: number) => void | Promise<void>;
  after?: number;
  /** Where the agent works: halts of other orgs and projects are none of its own. */
  org?: string;
  project?: string;
}

const OPEN_STATES: OpenSignal["state"][] = ["active", "escalated", "acknowledged"];
const ATTEMPTS = 5;
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Without even a heartbeat for so long a connection counts as broken. */
const SILENCE_MS = 45_000;
/** So many signals wait for the handler before reading waits for it. */
const MOST_WAITING = 10_000;

/** What is left to do for one number: the signal to handle, then the number up to which everything is handled. */
interface Heard {
  signal?: Signal;
  through?: number;
}

export class Subscriber {
  /** Everything up to here is handled; `null` until it is known where to begin. */
  cursor: number | null;
  readonly #options: SubscriberOptions;
  readonly #brain: OpenBrain;
  readonly #closed = new AbortController();
  readonly #halts = new Set<string>();
  readonly #acknowledged = new Set<string>();
  readonly #queue: Heard[] = [];
  #waiting: (() => void)[] = [];
  /** Everything up to here was heard; what is handled follows. */
  #heard: number | null;
  /** The broadcast as of which the halts that stand are known; `null` before any is. */
  #informed: number | null = null;
  #pause = PAUSE_MS;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#brain = connect(options);
    this.cursor = this.#heard = options.after ?? null;
  }

  /** Whether the agent must stand still now. */
  get halted(): boolean {
    return this.#halts.size > 0;
  }

  /** Returns when it is known that no halt stands; throws when it is closed before. */
  async guard(): Promise<void> {
    while (this.#informed === null || this.halted) {
      if (this.#closed.signal.aborted) throw new Error("closed before it was known that no halt stands");
      await this.#next();
    }
  }

  close(): void {
    this.#closed.abort();
    this.#moved();
  }

  /** Hears until it is closed. It throws where the key is refused; whatever else fails is tried again. */
  async run(): Promise<void> {
    const handling = this.#handleAll();
    try {
      await this.#hear();
    } finally {
      this.close();
      await handling;
    }
  }

  async #hear(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        await this.#connection();
      } catch (error) {
        if (error instanceof OpenBrainError && [400, 401, 403, 422].includes(error.status)) throw error;
      }
      await this.#sleep(this.#pause * (0.5 + Math.random() / 2));
      this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
    }
  }

  async #connection(): Promise<void> {
    const broken = new AbortController();
    const end = () => broken.abort();
    this.#closed.signal.addEventListener("abort", end);
    let silence = setTimeout(end, SILENCE_MS);
    try {
      const heard = await fetch(this.#address(), { headers: this.#headers(), signal: broken.signal });
      if (!heard.ok || heard.body === null) throw await refusal(heard);
      for await (const event of events(heard.body)) {
        clearTimeout(silence);
        this.#pause = PAUSE_MS;
        await this.#take(event);
        while (this.#queue.length >= MOST_WAITING && !this.#closed.signal.aborted) await this.#next();
        silence = setTimeout(end, SILENCE_MS);
      }
    } finally {
      clearTimeout(silence);
      broken.abort();
      this.#closed.signal.removeEventListener("abort", end);
    }
  }

  #address(): string {
    const { url, org, project } = this.#options;
    const query = new URLSearchParams({ ...(org ? { org } : {}), ...(project ? { project } : {}) });
    return `${url.replace(/\/+$/, "")}/v1/amygdala/stream?${query}`;
  }

  #headers(): Record<string, string> {
    const known = this.#heard === null ? {} : { "Last-Event-ID": String(this.#heard) };
    return { ...headersOf(this.#options), Accept: "text/event-stream", ...known };
  }

  async #take(event: ServerSentEvent): Promise<void> {
    switch (event.name) {
      case "state":
        return this.#begin(JSON.parse(event.data) as State);
      case "broadcast": {
        const { data } = JSON.parse(event.data) as { data: Signal };
        if (data.seq <= (this.#heard ?? 0)) return;
        this.#heardOfHalt(data);
        return this.#put(data.seq, [{ signal: data, through: data.seq }]);
      }
      case "skipped": {
        const { last } = JSON.parse(event.data) as { last: number };
        if (last > (this.#heard ?? 0)) this.#put(last, [{ through: last }]);
      }
    }
  }

  /** How things stand. Whoever knew nothing is told what is open; so is everyone after the database was put back. */
  async #begin(heard: State): Promise<void> {
    let state = heard;
    if (this.#heard !== null && state.seq < this.#heard) {
      const { data } = await this.#brain.GET("/v1/amygdala/state"); // a replica may be behind, the database is not
      if (data === undefined) return;
      if (data.seq < this.#heard) this.#heard = null;
      state = data;
    }
    this.#halts.clear();
    for (const halt of state.halts) if (this.#concerns(halt, halt.scope)) this.#halts.add(halt.id);
    this.#informed = state.seq;
    this.#moved();
    this.#acknowledge();
    if (this.#heard !== null) return;
    const halts = new Map(state.halts.map((halt) => [halt.signal_id, halt]));
    const open = [...state.signals, ...(state.more ? await this.#others(state) : [])];
    open.sort((one, other) => one.seq - other.seq);
    const signals = open.map((signal) => ({ signal: asSignal(signal, halts.get(signal.id)) }));
    this.#put(state.seq, [...signals, { through: state.seq }]);
  }

  /** The open signals beyond those of the state, which has only the most severe. */
  async #others(state: State): Promise<OpenSignal[]> {
    const told = new Set(state.signals.map((signal) => signal.id));
    const others: OpenSignal[] = [];
    let cursor: string | null | undefined;
    do {
      const query = { state: OPEN_STATES, ...(cursor ? { cursor } : {}) };
      const { data } = await this.#brain.GET("/v1/amygdala/signals", { params: { query } });
      others.push(...(data?.signals ?? []).filter((signal) => !told.has(signal.id)));
      cursor = data?.next_cursor;
    } while (cursor);
    return others;
  }

  #heardOfHalt(signal: Signal): void {
    if (!signal.halt_id || signal.seq <= (this.#informed ?? 0) || !this.#concerns(signal, signal.halt_scope)) return;
    if (signal.halt) this.#halts.add(signal.halt_id);
    else this.#halts.delete(signal.halt_id);
    this.#moved();
    this.#acknowledge();
  }

  #concerns(halt: Pick<Signal, "org" | "project">, scope: string | null | undefined): boolean {
    const { org, project } = this.#options;
    const sameOrg = !org || !halt.org || halt.org === org;
    const sameProject = !project || !halt.project || halt.project === project;
    if (scope === "org") return sameOrg;
    return scope === "project" ? sameOrg && sameProject : true;
  }

  #acknowledge(): void {
    for (const halt of this.#halts) {
      if (this.#acknowledged.has(halt)) continue;
      this.#acknowledged.add(halt);
      void this.#acknowledgeOne(halt);
    }
  }

  /** What fails is tried again while the halt stands. */
  async #acknowledgeOne(halt: string): Promise<void> {
    for (let pause = PAUSE_MS; this.#halts.has(halt); pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      if (this.#closed.signal.aborted) return;
      try {
        await this.#brain.POST("/v1/amygdala/halts/{id}/ack", { params: { path: { id: halt } }, body: {} });
        return;
      } catch (error) {
        if (error instanceof OpenBrainError && [403, 404, 409].includes(error.status)) return;
      }
      await this.#sleep(pause);
    }
    this.#acknowledged.delete(halt);
  }

  /** Apart from hearing: a halt counts, and ends, while a handler works or waits in `guard`. */
  async #handleAll(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      const heard = this.#queue.shift();
      if (heard === undefined) {
        await this.#next();
        continue;
      }
      if (heard.signal) await this.#handle(heard.signal);
      if (heard.through !== undefined) await this.#advance(heard.through);
      if (this.#queue.length === MOST_WAITING - 1) this.#moved();
    }
  }

  #put(through: number, heard: Heard[]): void {
    this.#heard = through;
    for (const each of heard) this.#queue.push(each);
    this.#moved();
  }

  async #handle(signal: Signal): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS && !this.#closed.signal.aborted; attempt++) {
      try {
        return await this.#options.onSignal(signal);
      } catch {
        await this.#sleep(PAUSE_MS * 2 ** attempt);
      }
    }
  }

  async #advance(seq: number): Promise<void> {
    if (this.#closed.signal.aborted) return; // it may not have been handled
    this.cursor = seq;
    try {
      await this.#options.onCursor?.(seq);
    } catch {
      // The next number replaces this one.
    }
  }

  /** Waits until something has changed. */
  async #next(): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #moved(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #sleep(milliseconds: number): Promise<void> {
    if (this.#closed.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#closed.signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      this.#closed.signal.addEventListener("abort", end);
    });
  }
}

function asSignal(signal: OpenSignal, halt: Halt | undefined): Signal {
  const { id, broadcast_severity: severity, ...rest } = signal;
  const halted = halt && { halt_id: halt.id, halt_state: halt.state, halt_scope: halt.scope };
  return { ...rest, signal_id: id, severity, halt: halt !== undefined, ...halted };
}
