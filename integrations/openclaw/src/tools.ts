/** Tools by which an agent looks further than what was assembled. */

import type { Brain } from "./brain.js";
import type { Engine } from "./engine.js";
import { fenced } from "./assembly.js";

const BUDGET = 4_000;

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

export function tools(brain: () => Brain, engine: () => Engine, minSimilarity: () => number): readonly Tool[] {
  return [
    {
      name: "openbrain_search",
      label: "Search what was said",
      description:
        "Find what was said before, in this or other sessions, by meaning. Use it when the context lacks something that you were told.",
      parameters: object({ query: { type: "string" }, limit: { type: "integer", minimum: 1, maximum: 50 } }, ["query"]),
      async execute(_id, params) {
        const limit = typeof params["limit"] === "number" ? params["limit"] : 10;
        const found = await brain().search(String(params["query"] ?? ""), limit, minSimilarity());
        return told(
          found.map((thought) => ({
            id: thought.id,
            from: String(thought.metadata["role"] ?? ""),
            at: thought.created_at,
            text: thought.content,
          })),
        );
      },
    },
    {
      name: "openbrain_expand",
      label: "Read what a summary stands for",
      description: "Read the turns behind a summary, or one turn whole, by the id that stands beside it.",
      parameters: object({ id: { type: "string" } }, ["id"]),
      async execute(_id, params) {
        const found = await engine().expand(String(params["id"] ?? ""));
        return told(
          found.map((thought) => ({
            id: thought.id,
            from: String(thought.metadata["role"] ?? ""),
            at: thought.created_at,
            text: thought.content,
          })),
        );
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
        return told([
          { id: thought.id, from: "what is kept", at: thought.created_at, text: lines.map((line) => line.join(": ")).join("\n") },
        ]);
      },
    },
  ];
}

function told(items: Parameters<typeof fenced>[2]): Result {
  return { content: [{ type: "text", text: fenced("openbrain-recalled", "", items, BUDGET) || "Nothing was found." }] };
}

function object(properties: Record<string, unknown>, required: string[]): Record<string, unknown> {
  return { type: "object", properties, required, additionalProperties: false };
}
