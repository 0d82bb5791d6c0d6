/** A summary without a model: what was said first in each turn, shortened until it fits. It always makes progress. */

import type { Thought } from "./brain.js";

export const SUMMARY_TOKENS = 1_500;
const STEPS = [240, 120, 60, 30];

/** `thoughts` in order; those that are summaries already stand for what they summarise. */
export function deterministicSummary(thoughts: readonly Thought[], maxTokens = SUMMARY_TOKENS): string {
  const most = maxTokens * 3;
  for (const length of STEPS) {
    const text = thoughts.map((thought) => line(thought, length)).join("\n");
    if (text.length <= most) return text;
  }
  const shortest = STEPS.at(-1) ?? 30;
  const lines = thoughts.map((thought) => line(thought, shortest));
  const half = Math.max(1, Math.floor(most / (shortest + 24) / 2));
  const left = lines.length - 2 * half;
  return [...lines.slice(0, half), `[… ${left} messages between; expand this summary for them …]`, ...lines.slice(-half)].join("\n");
}

function line(thought: Thought, length: number): string {
  const role = String(thought.metadata["role"] ?? "said");
  const flat = thought.content.replace(/\s+/g, " ").trim();
  return `${role}: ${flat.length > length ? `${flat.slice(0, length)}…` : flat}`;
}

export function depthOf(thoughts: readonly Thought[]): number {
  const depths = thoughts.map((thought) => Number(thought.metadata["depth"] ?? 0));
  return 1 + Math.max(0, ...depths.filter(Number.isFinite));
}
