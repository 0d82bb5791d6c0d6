/** Tools by which an agent looks further than what was assembled. */

import type { Found } from "./assembly.js";
import { between, entry } from "./assembly.js";
import type { Brain, Thought } from "./brain.js";
import type { Compactor } from "./compaction.js";
import { cut } from "./messages.js";

/** Of one answer. */
const PAGE_CHARS = 12_000;

interface Result {
  content: { type: "text"; text: string }[];
}

export interface Tool {
  readonly name: string;
  readonly label: string;
  readonly description: string;
  readonly parameters: Record<string, unknown>;
  execute(id: string, params: Record<string, unknown>): Promise<Result>;
}

export function tools(brain: () => Brain, compactor: () => Compactor, minSimilarity: () => number): readonly Tool[] {
  return [
    {
      name: "openbrain_search",
      label: "Search what was said",
      description:
        "Find what was said before, in this or other sessions, by meaning. Use it when the context lacks something that you were told.",
      parameters: object({ query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 50 }, offset: OFFSET }, ["query"]),
      async execute(_id, params) {
        const limit = typeof params["limit"] === "number" ? params["limit"] : 10;
        const found = await brain().search(String(params["query"] ?? ""), limit, minSimilarity());
        return page(found.map(said), params["offset"]);
      },
    },
    {
      name: "openbrain_expand",
      label: "Read what a summary stands for",
      description: "Read the turns behind a summary, or one turn whole, by the id that stands beside it.",
      parameters: object({ id: { type: "string" }, offset: OFFSET }, ["id"]),
      async execute(_id, params) {
        const found = await compactor().expand(String(params["id"] ?? ""));
        return page(found.map(said), params["offset"]);
      },
    },
    {
      name: "openbrain_describe",
      label: "Describe a turn or summary",
      description: "Tell where a turn or summary comes from: its session, role, time, and how much a summary stands for.",
      parameters: object({ id: { type: "string" } }, ["id"]),
      async execute(_id, params) {
        const thought = await brain().thought(String(params["id"] ?? ""));
        const lines = Object.entries({ source: thought.source, created_at: thought.created_at, ...thought.metadata });
        return page([
          { id: thought.id, from: "what is kept", at: thought.created_at, text: lines.map((line) => line.join(": ")).join("\n") },
        ]);
      },
    },
  ];
}

const OFFSET = { type: "integer", minimum: 0, description: "Where to go on, as the answer before said." };

function said(thought: Thought): Found {
  return { id: thought.id, from: String(thought.metadata["role"] ?? ""), at: thought.created_at, text: thought.content };
}

/** Whatever is long is read page by page. */
function page(items: readonly Found[], offset?: unknown): Result {
  const from = typeof offset === "number" && offset > 0 ? Math.floor(offset) : 0;
  const whole = items.map(entry).join("\n");
  const text = cut(whole, from, from + PAGE_CHARS);
  const next = from + text.length;
  const more = next < whole.length ? `\n[${whole.length - next} more characters: ask again with offset ${next}]` : "";
  const answer = text === "" ? "Nothing was found." : between("openbrain-recalled", text + more);
  return { content: [{ type: "text", text: answer }] };
}

function object(properties: Record<string, unknown>, required: string[]): Record<string, unknown> {
  return { type: "object", properties, required, additionalProperties: false };
}
