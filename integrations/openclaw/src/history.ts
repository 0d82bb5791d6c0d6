/** Turns of the host's transcript that are not stored: taken while OpenBrain was away, or before the engine was there. */

import type { Brain, Thought } from "./brain.js";
import type { Message } from "./messages.js";
import { endedAt, isFinished, isInjected, saidAt, textOf, turns } from "./messages.js";

/** So many of the newest thoughts are looked at: a gap is made up with the next turn, so that none lies deeper. */
const LOOKED_AT = 300;

/** Messages of finished turns that are not stored, in order. What is the same has the same role and time. */
export async function missing(brain: Brain, key: string, history: readonly Message[]): Promise<Message[]> {
  const finished = finishedTurns(history);
  if (finished.length === 0) return [];
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
    .filter((message) => !stored.has(mark(message)));
}

/** What is said in the turns that have an end. */
export function finishedTurns(history: readonly Message[]): Message[][] {
  const finished = turns(history).filter((turn) => isFinished(turn) && !isHeartbeat(turn));
  return finished.map((turn) => turn.filter((message) => textOf(message) !== "" && !isInjected(message)));
}

/** What makes a message of a session the same. */
export function mark(message: Message): string {
  return `${roleOf(message)} ${saidAt(message)}`;
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
