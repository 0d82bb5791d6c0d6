/** Signals and halts by server-sent events: each at least once, in order, across broken connections. */
import { connect, headersOf, OpenBrainError, refusal, type OpenBrain, type Server } from "./connection.js";
import type { components } from "./schema.js";
import { events, type ServerSentEvent } from "./events.js";

type State = components["schemas"]["AmygdalaState"];
type OpenSignal = State["signals"][number];

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

const ATTEMPTS = 5;
const PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** Without even a heartbeat for so long a connection counts as broken. */
const SILENCE_MS = 45_000;

export class Subscriber {
  /** Everything up to here is handled; `null` until it is known where to begin. */
  cursor: number | null;
  readonly #options: SubscriberOptions;
  readonly #brain: OpenBrain;
  readonly #closed = new AbortController();
  readonly #halts = new Set<string>();
  readonly #acknowledged = new Set<string>();
  #waiting: (() => void)[] = [];
  /** The broadcast as of which the halts that stand are known; `null` before any is. */
  #informed: number | null = null;
  #pause = PAUSE_MS;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.#brain = connect(options);
    this.cursor = options.after ?? null;
  }

  /** Whether the agent must stand still now. */
  get halted(): boolean {
    return this.#halts.size > 0;
  }

  /** Returns when it is known that no halt stands; throws when it is closed before. */
  async guard(): Promise<void> {
    while (this.#informed === null || this.halted) {
      if (this.#closed.signal.aborted) throw new Error("closed before it was known that no halt stands");
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  close(): void {
    this.#closed.abort();
    this.#moved();
  }

  /** Hears until it is closed. It throws where the key is refused; whatever else fails is tried again. */
  async run(): Promise<void> {
    while (!this.#closed.signal.aborted) {
      try {
        await this.#connection();
      } catch (error) {
        if (error instanceof OpenBrainError && [400, 401, 403, 422].includes(error.status)) {
          this.close();
          throw error;
        }
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
        silence = setTimeout(end, SILENCE_MS);
        this.#pause = PAUSE_MS;
        await this.#take(event);
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
    const known = this.cursor === null ? {} : { "Last-Event-ID": String(this.cursor) };
    return { ...headersOf(this.#options), Accept: "text/event-stream", ...known };
  }

  async #take(event: ServerSentEvent): Promise<void> {
    switch (event.name) {
      case "state":
        return this.#begin(JSON.parse(event.data) as State);
      case "broadcast": {
        const { data } = JSON.parse(event.data) as { data: Signal };
        if (data.seq <= (this.cursor ?? 0)) return;
        this.#heardOfHalt(data);
        await this.#handle(data);
        return this.#advance(data.seq);
      }
      case "skipped": {
        const { last } = JSON.parse(event.data) as { last: number };
        if (last > (this.cursor ?? 0)) await this.#advance(last);
      }
    }
  }

  /** How things stand. Whoever knew nothing is told what is open; so is everyone after the database was put back. */
  async #begin(heard: State): Promise<void> {
    let state = heard;
    if (this.cursor !== null && state.seq < this.cursor) {
      const { data } = await this.#brain.GET("/v1/amygdala/state"); // a replica may be behind, the database is not
      if (data === undefined) return;
      if (data.seq < this.cursor) this.cursor = null;
      state = data;
    }
    this.#halts.clear();
    for (const halt of state.halts) if (this.#concerns(halt, halt.scope)) this.#halts.add(halt.id);
    this.#informed = state.seq;
    this.#moved();
    await this.#acknowledge();
    if (this.cursor !== null) return;
    const open = [...state.signals].sort((one, other) => one.seq - other.seq);
    for (const signal of open) await this.#handle(asSignal(signal));
    await this.#advance(state.seq);
  }

  #heardOfHalt(signal: Signal): void {
    if (!signal.halt_id || signal.seq <= (this.#informed ?? 0) || !this.#concerns(signal, signal.halt_scope)) return;
    if (signal.halt) this.#halts.add(signal.halt_id);
    else this.#halts.delete(signal.halt_id);
    this.#moved();
    void this.#acknowledge();
  }

  #concerns(halt: Pick<Signal, "org" | "project">, scope: string | null | undefined): boolean {
    const { org, project } = this.#options;
    const sameOrg = !org || !halt.org || halt.org === org;
    const sameProject = !project || !halt.project || halt.project === project;
    if (scope === "org") return sameOrg;
    return scope === "project" ? sameOrg && sameProject : true;
  }

  /** What fails is done again with the next state. */
  async #acknowledge(): Promise<void> {
    for (const halt of this.#halts) {
      if (this.#acknowledged.has(halt)) continue;
      this.#acknowledged.add(halt);
      const params = { path: { id: halt } };
      await this.#brain.POST("/v1/amygdala/halts/{id}/ack", { params, body: {} }).catch(() => {
        this.#acknowledged.delete(halt);
      });
    }
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
    await this.#options.onCursor?.(seq);
  }

  #moved(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  async #sleep(milliseconds: number): Promise<void> {
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

function asSignal(signal: OpenSignal): Signal {
  const { id, broadcast_severity: severity, ...rest } = signal;
  return { ...rest, signal_id: id, severity, halt: false };
}
