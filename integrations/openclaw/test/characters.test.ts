import { expect, it } from "vitest";

import type { Thought } from "../src/brain.js";
import { pieces, textOf } from "../src/messages.js";
import { excerpt } from "../src/recall.js";
import { deterministicSummary } from "../src/summary.js";
import { tools } from "../src/tools.js";

/** Half of one can't be written as UTF-8: OpenBrain and the providers of models refuse the whole request. */
const HALF = /\p{Cs}/u;

it("tears no character in two where a text is cut", async () => {
  for (const before of ["", "a"]) {
    const text = before + "🙂".repeat(20_000);
    const thought: Thought = { id: "1", content: text, source: "s", metadata: { role: "user" }, created_at: "" };
    expect(deterministicSummary([thought])).not.toMatch(HALF);
    expect(excerpt(`${text} needle ${text}`, "needle", 333.3)).not.toMatch(HALF);
    expect(pieces(text.repeat(30)).filter((piece) => HALF.test(piece))).toEqual([]);
    expect(await read(thought)).toBe(text);
  }
});

it("stores what a tool cut off within a character", () => {
  expect(textOf({ role: "toolResult", toolName: "read", content: "cut 🙂".slice(0, -1) })).toBe("[result of read]\ncut \ufffd");
});

/** Page by page, as an agent reads it. */
async function read(thought: Thought): Promise<string> {
  const brain = { search: () => Promise.resolve([thought]) };
  const [search] = tools(() => brain as never, () => undefined as never, () => 0);
  let [whole, offset] = ["", 0];
  for (;;) {
    const page = await search?.execute("", { query: "what", offset });
    const shown = page?.content[0]?.text ?? "";
    expect(shown).not.toMatch(HALF);
    const [, text = "", next] = /instructions\.\n(.*?)(?:\n\[.* ask again with offset (\d+)\])?\n<\/openbrain/s.exec(shown) ?? [];
    whole += text;
    if (next === undefined) return whole.slice(whole.indexOf("] ") + 2);
    offset = Number(next);
  }
}
