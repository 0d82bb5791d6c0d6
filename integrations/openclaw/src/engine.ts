/** The context engine: turns are committed to OpenBrain once each, and the context is assembled within the budget. */

import { createHash } from "node:crypto";

import { BUDGET, summaryMessage, tailOf } from "./assembly.js";
import type { BatchItem, Brain, NewThought } from "./brain.js";
import type { Compacted, Complete } from "./compaction.js";
import { Compactor } from "./compaction.js";
import type { Config } from "./config.js";
import { matchesAny } from "./config.js";
import type { Message } from "./messages.js";
import { finishedTurns, mark, missing, roleOf } from "./history.js";
import { BOOTSTRAP, isInjected, pieces, saidAt, size, textOf } from "./messages.js";
import { Recall } from "./recall.js";
import type { Session, State } from "./state.js";
import { keyOf, sourceOf } from "./state.js";

const RECALLED_SHARE = 0.15;
/** Of the budget: turns that take more are summarised, all but the newest. */
const COMPACTED_AT = 0.45;
/** What a turn waits for what was missed before; the rest is stored after its reply. */
const MADE_UP_MS = 1_000;
const MADE_UP_AT_ONCE = 100;

export class Engine {
  readonly compactor: Compactor;
  readonly #recall: Recall;

  constructor(
    private readonly config: Config,
    private readonly brain: Brain,
    private readonly state: State,
    private readonly log: (line: string) => void = () => undefined,
  ) {
    this.compactor = new Compactor(config, brain, state, log);
    this.#recall = new Recall(config, brain, state, log);
  }

  /** Stores an accepted turn. A failure is the host's to repeat: it keeps the turn, and offers it again under its key. */
  async commit(session: Session, advancementKey: string, messages: readonly Message[]): Promise<"committed" | "duplicate"> {
    const key = keyOf(session);
    if (this.#silent(key)) return "committed";
    const history = this.state.histories.get(key);
    if (history) await this.#madeUp(session, history).catch((error: unknown) => this.#later(key, error));
    const known = this.state.madeUp.get(key);
    const thoughts = messages.flatMap((message, entry) =>
      known?.has(mark(message)) ? [] : this.#thoughts(key, message, advancementKey, entry),
    );
    if (thoughts.length === 0) return "committed";
    const results = await this.#stored(thoughts, advancementKey);
    this.#grown(key, messages);
    this.state.madeUp.delete(key);
    return results.every((result) => result.status === "duplicate") ? "duplicate" : "committed";
  }

  /** For hosts before 2026.9, which know no commits: what makes a message the same is when it was said, and what. */
  async ingest(session: Session, messages: readonly Message[]): Promise<number> {
    const key = keyOf(session);
    if (this.#silent(key)) return 0;
    const thoughts = messages.flatMap((message) =>
      this.#thoughts(key, message, digest(key, message.role, message.timestamp, textOf(message))),
    );
    if (thoughts.length === 0) return 0;
    const results = await this.#stored(thoughts, digest(key, thoughts));
    return results.filter((result) => result.status === "created").length;
  }

  /** They hand over the whole session after each turn. */
  async afterTurn(session: Session, messages: readonly Message[], before: number): Promise<void> {
    const key = keyOf(session);
    try {
      if (this.state.complete.has(key)) await this.ingest(session, messages.slice(before));
      else await this.#madeUp(session, messages);
    } catch {
      return; // told where it failed, and made up with the next turn
    }
    this.state.madeUp.delete(key);
    this.#grown(key, messages.slice(before));
    await this.relieve(session, {});
  }

  /** Stores what the transcript holds and OpenBrain does not: what the host took without the engine. */
  async #madeUp(session: Session, history: readonly Message[], deadline = Infinity): Promise<void> {
    const key = keyOf(session);
    if (this.#silent(key)) return;
    const last = this.state.complete.get(key);
    const known = last === undefined ? -1 : history.findLastIndex((message) => mark(message) === last);
    if (known < 0) this.state.histories.set(key, history);
    const lost = known < 0 ? await missing(this.brain, key, history) : finishedTurns(history.slice(known + 1)).flat();
    for (let from = 0; from < lost.length; from += MADE_UP_AT_ONCE) {
      if (Date.now() > deadline) return;
      await this.ingest(session, lost.slice(from, from + MADE_UP_AT_ONCE));
    }
    if (lost.length > 0) this.state.madeUp.set(key, new Set([...(this.state.madeUp.get(key) ?? []), ...lost.map(mark)]));
    const newest = finishedTurns(history).flat().at(-1);
    this.state.complete.set(key, newest ? mark(newest) : (last ?? ""));
    this.state.histories.delete(key);
  }

  /** After it was stored. */
  #grown(key: string, messages: readonly Message[]): void {
    const [pressure, newest] = [this.state.pressures.get(key), messages.at(-1)];
    if (pressure) this.state.pressures.set(key, { ...pressure, used: pressure.used + size(messages) });
    if (newest && this.state.complete.has(key)) this.state.complete.set(key, mark(newest));
  }

  /**
   * Within a turn the same is the answer as long as it fits: its prefix is in the provider's cache. A host assembles again
   * before each call of its model, from what was assembled before and with its whole window as the budget.
   */
  async assemble(
    session: Session,
    given: readonly Message[],
    options: { tokenBudget?: number | undefined; prompt?: string | undefined },
  ): Promise<{ messages: Message[]; estimatedTokens: number }> {
    const key = keyOf(session);
    const messages = given.filter((message) => !isInjected(message));
    const budget = options.tokenBudget ?? BUDGET;
    const newest = messages.at(-1);
    const place = newest ? placeOf(newest) : "";
    const known = this.state.assembled.get(key);
    const prompt = options.prompt ?? (known?.place === place ? known.prompt : "");
    if (known?.place === place && known.prompt === prompt && size(known.messages) <= budget) {
      return { messages: [...known.messages], estimatedTokens: size(known.messages) };
    }
    const body = await this.#assembled(session, messages, prompt, budget);
    this.state.assembled.set(key, { prompt, place, messages: body });
    return { messages: body, estimatedTokens: size(body) };
  }

  async #assembled(session: Session, messages: readonly Message[], prompt: string, budget: number): Promise<Message[]> {
    const key = keyOf(session);
    const ignored = matchesAny(key, this.config.ignoreSessions);
    await this.#madeUp(session, messages, Date.now() + MADE_UP_MS).catch((error: unknown) => {
      this.log(`openclaw-openbrain-context: makes up later what is not stored: ${String(error)}`);
    });
    const summaries = ignored ? [] : await this.compactor.summaries(key);
    const head = summaries.map(summaryMessage);
    const tail = tailOf(messages, budget - size(head), summaries.at(-1)?.until ?? 0);
    this.state.pressures.set(key, { used: tail.dropped > 0 ? budget : size(tail.messages), budget });
    const body = [...head, ...tail.messages];
    const [first, last] = [body[0], tail.messages.at(-1)];
    if (first?.role === "assistant") body.unshift({ role: "user", content: BOOTSTRAP, timestamp: saidAt(first) });
    const room = Math.min(budget * RECALLED_SHARE, budget - size(body));
    const recalled = ignored || room <= 0 ? "" : await this.#recall.recalled(key, prompt, tail.messages, room);
    if (recalled) body.push({ role: "user", content: recalled, timestamp: (last && saidAt(last)) || Date.now() });
    return body;
  }

  /** By command, or because the host's model refused what was too long: it leaves two turns as they are. */
  async compact(
    session: Session,
    options: { force?: boolean | undefined; tokenBudget?: number | undefined; complete?: Complete | undefined },
  ): Promise<Compacted> {
    const key = keyOf(session);
    const budget = this.state.pressures.get(key)?.budget ?? options.tokenBudget ?? BUDGET;
    this.state.assembled.delete(key);
    const keep = options.force ? Math.min(2, this.config.recentMessages) : this.config.recentMessages;
    return this.#alone(key, () => this.compactor.compact(key, { keep, budget, complete: options.complete }));
  }

  /** After a turn: older turns are summarised when all of them take more than their share. Whether they were. */
  async relieve(session: Session, options: { complete?: Complete | undefined; signal?: AbortSignal | undefined }): Promise<boolean> {
    const key = keyOf(session);
    const pressure = this.state.pressures.get(key);
    if (this.#silent(key) || pressure === undefined || pressure.used <= pressure.budget * COMPACTED_AT) return false;
    try {
      const want = { keep: this.config.recentMessages, budget: pressure.budget, ...options };
      const { compacted } = await this.#alone(key, () => this.compactor.compact(key, want));
      if (compacted) this.state.pressures.delete(key);
      return compacted;
    } catch (error) {
      this.log(`openclaw-openbrain-context: compacts later: ${String(error)}`);
      return false;
    }
  }

  /** A sub-agent sees what its parent said last, also when the host was started anew. The result takes it back. */
  async adopt(childKey: string, parentKey: string): Promise<() => Promise<void>> {
    this.state.parents.set(childKey, parentKey);
    let id: string | null = null;
    if (!this.#silent(childKey)) {
      const identity = { sessionId: childKey, advancementKey: "parent", type: "subagent", role: "subagent" };
      const content = `A sub-agent of ${parentKey}.`;
      const link = { content, source: sourceOf(this.config, childKey), metadata: { ...identity, parent: parentKey } };
      try {
        id = (await this.brain.store([link], `${childKey}:parent`))[0]?.id ?? null;
      } catch (error) {
        this.log(`openclaw-openbrain-context: remembers a sub-agent's parent only here: ${String(error)}`);
      }
    }
    return async () => {
      this.state.parents.delete(childKey);
      if (id !== null) await this.brain.remove(id).catch((error: unknown) => this.log(String(error)));
    };
  }

  /** A session is compacted once at a time: a second one would summarise the same. */
  async #alone(key: string, work: () => Promise<Compacted>): Promise<Compacted> {
    if (this.state.compacting.has(key)) {
      return { compacted: false, reason: "the session is being compacted", tokensBefore: 0, tokensAfter: 0 };
    }
    this.state.compacting.add(key);
    try {
      return await work();
    } finally {
      this.state.compacting.delete(key);
    }
  }

  async #stored(thoughts: readonly NewThought[], key: string): Promise<readonly BatchItem[]> {
    try {
      const results = await this.brain.store(thoughts, key);
      const refused = results.find((result) => result.status === "refused");
      if (refused) throw new Error(`a turn was refused: ${refused.message ?? ""}`);
      return results;
    } catch (error) {
      return this.#later(String(thoughts[0]?.metadata["sessionId"]), error);
    }
  }

  /** The host says only that it degraded: why is told here. */
  #later(key: string, error: unknown): never {
    this.state.complete.delete(key);
    this.log(`openclaw-openbrain-context: a turn is not stored yet, and offered again: ${String(error)}`);
    throw error;
  }

  #thoughts(key: string, message: Message, advancementKey: string, entry?: number): NewThought[] {
    if (message.role === "custom") return [];
    const said = {
      sessionId: key,
      role: roleOf(message),
      type: "message",
      ...(saidAt(message) === 0 ? {} : { timestamp: saidAt(message) }),
      advancementKey,
    };
    return pieces(textOf(message)).map((content, piece) => ({
      content,
      source: sourceOf(this.config, key),
      metadata: { ...said, ...(piece > 0 ? { entry: `${entry ?? 0}.${piece}` } : entry === undefined ? {} : { entry }) },
    }));
  }

  #silent(key: string): boolean {
    return matchesAny(key, this.config.ignoreSessions) || matchesAny(key, this.config.statelessSessions);
  }
}

/** Where a transcript ended. Without a time, what was said tells one end from another. */
function placeOf(newest: Message): string {
  return saidAt(newest) === 0 ? digest(mark(newest), textOf(newest)) : mark(newest);
}

function digest(...values: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(values)).digest("hex");
}
