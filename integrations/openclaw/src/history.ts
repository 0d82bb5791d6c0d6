/** Turns of the host's transcript that are not stored: taken while OpenBrain was away, or before the engine was there. */

import type { Brain, Thought } from "./brain.js";
import type { Message } from "./messages.js";
import { endedAt, isFinished, textOf, turns } from "./messages.js";

/** So many of the newest thoughts are looked at: a gap is made up with the next turn, so that none lies deeper. */
const LOOKED_AT = 300;

/**
 * Messages of finished turns, in order. What is the same has the same role and time. Where all is known to be stored until
 * some time, it is what was said since: the host took a turn without the engine.
 */
export async function missing(brain: Brain, key: string, history: readonly Message[], until?: number): Promise<Message[]> {
  const finished = turns(history).filter((turn) => isFinished(turn) && !isHeartbeat(turn));
  if (until !== undefined) return finished.flat().filter((message) => (message.timestamp ?? 0) > until && textOf(message) !== "");
  const stored = new Set<string>();
  let since = Infinity;
  let all = true;
  for await (const thought of brain.newest({ sessionId: key, type: "message" })) {
    const time = timeOf(thought);
    stored.add(`${String(thought.metadata["role"])} ${time}`);
    since = Math.min(since, time);
    if (stored.size >= LOOKED_AT) {
      all = false;
      break;
    }
  }
  return finished
    .filter((turn) => all || endedAt(turn) > since)
    .flat()
    .filter((message) => textOf(message) !== "" && !stored.has(mark(message)));
}

/** What makes a message of a session the same. */
export function mark(message: Message): string {
  return `${roleOf(message)} ${message.timestamp ?? 0}`;
}

/** The host says it of a turn that it commits, and not of one in its transcript. */
function isHeartbeat(turn: readonly Message[]): boolean {
  return turn.some((message) => message.role === "assistant" && textOf(message).startsWith("HEARTBEAT_OK"));
}

export function roleOf(message: Message): string {
  return message.role === "toolResult" ? "tool" : message.role;
}

export function timeOf(thought: Thought): number {
  const given = thought.metadata["timestamp"];
  return typeof given === "number" ? given : Date.parse(thought.created_at);
}
