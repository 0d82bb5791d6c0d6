/** What outlives an instance of the engine: the host makes one for each operation. All of it can be read anew. */

import type { Summary } from "./assembly.js";
import type { Config } from "./config.js";
import type { Message } from "./messages.js";

export interface Pressure {
  /** Tokens of the turns for which no summary stands. */
  readonly used: number;
  readonly budget: number;
}

export interface Assembled {
  /** The prompt, and where the transcript ended. */
  readonly prompt: string;
  readonly place: string;
  readonly messages: readonly Message[];
}

/** A host runs for months, and each job of it may be a session of its own. */
const SESSIONS = 100;

/** Of the sessions that were written to last. */
class Recent<Value> extends Map<string, Value> {
  override set(key: string, value: Value): this {
    this.delete(key);
    const [oldest] = this.keys();
    if (this.size >= SESSIONS && oldest !== undefined) this.delete(oldest);
    return super.set(key, value);
  }
}

export class State {
  readonly summaries = new Recent<readonly Summary[]>();
  readonly pressures = new Recent<Pressure>();
  /** Sub-agent's session -> the session that it was started in; "" where it has none. */
  readonly parents = new Recent<string>();
  readonly assembled = new Recent<Assembled>();
  /** Sessions of which everything is stored that their transcript holds, and the mark of the last message of it. */
  readonly complete = new Recent<string>();
  /** What was stored from the transcript since the last commit: the host may yet commit it. */
  readonly madeUp = new Recent<ReadonlySet<string>>();
  /** Transcripts of which it is not. */
  readonly histories = new Recent<readonly Message[]>();
  /** Sessions that are being compacted. */
  readonly compacting = new Set<string>();

  /** Of a session that has ended. */
  forget(key: string): void {
    const all = [this.summaries, this.pressures, this.parents, this.assembled, this.histories, this.complete, this.madeUp];
    for (const kept of all) kept.delete(key);
  }
}

export interface Session {
  readonly sessionId: string;
  readonly sessionKey?: string | undefined;
}

export function keyOf(session: Session): string {
  return session.sessionKey ?? session.sessionId;
}

export function sourceOf(config: Config, key: string): string {
  const [, agent] = key.split(":");
  return `${config.source}:${key.startsWith("agent:") && agent ? agent : "main"}`;
}
