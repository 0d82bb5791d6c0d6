/** Summaries without a model: what was said first in each turn, shortened until it fits. They always make progress. */

import type { Summary } from "./assembly.js";
import type { Thought } from "./brain.js";
import { cut } from "./messages.js";

export const SUMMARY_TOKENS = 1_500;
const CHARS_PER_TOKEN = 3;
const STEPS = [240, 120, 60, 30];

/** One line a turn, and those of earlier summaries, in order. */
export function deterministicSummary(thoughts: readonly Thought[], maxTokens = SUMMARY_TOKENS): string {
  const most = maxTokens * CHARS_PER_TOKEN;
  const lines = thoughts.flatMap(linesOf);
  for (const length of STEPS) {
    const text = lines.map((line) => shortened(line, length)).join("\n");
    if (text.length <= most) return text;
  }
  const shortest = lines.map((line) => shortened(line, STEPS.at(-1) ?? 30));
  const kept = { first: [] as string[], last: [] as string[] };
  let [from, to, left] = [0, shortest.length, most - 80];
  while (from < to) {
    const line = from <= shortest.length - to ? shortest[from] : shortest[to - 1];
    if (line === undefined || line.length + 1 > left) break;
    left -= line.length + 1;
    if (from <= shortest.length - to) kept.first.push(shortest[from++] ?? "");
    else kept.last.unshift(shortest[--to] ?? "");
  }
  return [...kept.first, `[… ${to - from} lines between; expand this summary for them …]`, ...kept.last].join("\n");
}

function linesOf(thought: Thought): string[] {
  if (thought.metadata["type"] === "summary") return thought.content.split("\n").filter((line) => line.trim() !== "");
  return [`${String(thought.metadata["role"] ?? "said")}: ${thought.content.replace(/\s+/g, " ").trim()}`];
}

function shortened(line: string, length: number): string {
  return line.length > length ? `${cut(line, 0, length)}…` : line;
}

export function summaryOf(thought: Thought): Summary {
  const { from, until, depth } = thought.metadata;
  return { id: thought.id, text: thought.content, from: Number(from ?? 0), until: Number(until ?? 0), depth: Number(depth ?? 1) };
}

/** Those that no deeper one stands for, in order. */
export function standing(all: readonly Summary[]): readonly Summary[] {
  const within = (one: Summary, other: Summary): boolean =>
    other.depth > one.depth && other.from <= one.from && other.until >= one.until;
  return all.filter((one) => !all.some((other) => within(one, other))).sort((one, other) => one.from - other.from);
}

/** Where the two neighbours begin that are merged next: the shallowest, so that none is summarised more often than need be. */
export function mergedNext(summaries: readonly Summary[]): number {
  const depths = summaries.slice(1).map((summary, index) => summary.depth + (summaries[index]?.depth ?? 0));
  return depths.indexOf(Math.min(...depths));
}
