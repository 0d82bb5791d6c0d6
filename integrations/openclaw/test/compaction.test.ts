import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";

import { contextEngine } from "../index.js";
import { summaryMessage, type Summary } from "../src/assembly.js";
import { Brain, type NewThought, type Thought } from "../src/brain.js";
import { parseConfig } from "../src/config.js";
import { Engine } from "../src/engine.js";
import { type Message, pieces, size } from "../src/messages.js";
import { excerpt } from "../src/recall.js";
import { State } from "../src/state.js";
import { mergedNext, standing } from "../src/summary.js";

const session = { sessionId: "s", sessionKey: "agent:main:main" };
const BUDGET = 4_000;
/** Of OpenBrain. */
const KEY_CHARS = 255;
const CONTENT_CHARS = 50_000;

/** As much of OpenBrain as compaction asks for: thoughts in order, by metadata, a page at a time. What it stores is tested there. */
const kept: Thought[] = [];
const ids = new Set<string>();
const named: string[] = [];
let server: Server;
let hangs: "at once" | "within its answer" | undefined;

beforeAll(async () => {
  server = createServer((request, response) => {
    if (hangs === "within its answer") response.writeHead(200).write("[");
    if (hangs) return;
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const { status = 200, body, headers = {} } = answer(request.method ?? "", new URL(request.url ?? "", "http://h"), text, String(request.headers["idempotency-key"]));
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
    });
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  kept.length = 0;
  ids.clear();
  named.length = 0;
  hangs = undefined;
});

function answer(method: string, url: URL, text: string, key: string): { status?: number; body: unknown; headers?: Record<string, string> } {
  if (method === "POST" && url.pathname === "/v1/thoughts:batch") {
    if (key.length > KEY_CHARS) return { status: 422, body: { message: "Idempotency-Key is too long" } };
    const { thoughts } = JSON.parse(text) as { thoughts: NewThought[] };
    named.push(...thoughts.flatMap((each, index) => names(`${key}#${index}`, each.content)));
    return { body: { results: thoughts.map(stored) } };
  }
  if (method === "GET" && url.pathname === "/v1/thoughts") {
    const wanted = [...url.searchParams].filter(([name]) => name.startsWith("metadata."));
    const found = kept.filter((each) => wanted.every(([name, value]) => String(each.metadata[name.slice(9)]) === value)).reverse();
    const [from, limit] = [Number(url.searchParams.get("cursor") ?? 0), Number(url.searchParams.get("limit"))];
    const more: Record<string, string> = from + limit < found.length ? { "x-next-cursor": String(from + limit) } : {};
    return { body: found.slice(from, from + limit), headers: more };
  }
  if (method === "GET") return { body: kept.find((each) => url.pathname.endsWith(each.id)) };
  return { body: url.pathname === "/v1/search" ? [] : { memories: [] } };
}

/** The server's own idempotency keys of a thought and its parts. */
function names(key: string, content: string): string[] {
  const parts = Math.ceil(content.length / CONTENT_CHARS);
  return Array.from({ length: parts }, (_, index) => (index === 0 ? key : `${key}#${index + 1}`));
}

function stored(thought: NewThought): { status: string; id: string } {
  const { sessionId, advancementKey, entry } = thought.metadata;
  const id = JSON.stringify([sessionId, advancementKey, entry]).replace(/\W+/g, "-");
  const known = ids.has(id);
  ids.add(id);
  if (!known) kept.push({ ...thought, id, created_at: new Date(kept.length).toISOString() });
  return { status: known ? "duplicate" : "created", id };
}

function engine(state = new State(), given = {}): Engine {
  const { port } = server.address() as AddressInfo;
  const config = parseConfig({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "k", ...given }, {});
  return new Engine(config, new Brain(config), state);
}

function turn(number: number): Message[] {
  return [
    { role: "user", content: `question ${number} `.padEnd(300, "x"), timestamp: number * 10 },
    { role: "assistant", content: [{ type: "text", text: `answer ${number} `.padEnd(300, "y") }], timestamp: number * 10 + 1 },
  ];
}

/** Turns as a host does them: assemble, assemble what came of it for its whole window, commit, maintain; with an engine each. */
async function talk(from: number, to: number, state: State): Promise<Message[][]> {
  const assembled: Message[][] = [];
  for (let number = from; number <= to; number += 1) {
    const messages = Array.from({ length: number - 1 }, (_, index) => turn(index + 1)).flat();
    const given = await engine(state).assemble(session, messages, { tokenBudget: BUDGET, prompt: "" });
    const again = await engine(state).assemble(session, given.messages, { tokenBudget: 4 * BUDGET, prompt: "" });
    expect(again.messages).toEqual(given.messages);
    assembled.push(given.messages);
    await engine(state).commit(session, `turn ${number}`, turn(number));
    await engine(state).relieve(session, {});
  }
  return assembled;
}

function summaries(): Summary[] {
  const all = kept.filter((each) => each.metadata["type"] === "summary");
  return all.map((each) => ({ id: each.id, text: each.content, ...(each.metadata as unknown as { from: number; until: number; depth: number }) }));
}

it("compacts by itself, stays within the budget, and every turn is in the prompt or behind a summary", { timeout: 60_000 }, async () => {
  const state = new State();
  for (const [index, messages] of (await talk(1, 120, state)).entries()) {
    expect(size(messages)).toBeLessThanOrEqual(BUDGET);
    const head = standing(summaries().filter((each) => messages.some((message) => message.content === summaryMessage(each).content)));
    const until = head.at(-1)?.until ?? 0;
    for (const [number, each] of head.entries()) if (number > 0) expect(each.from).toBeGreaterThan(head[number - 1]?.until ?? 0);
    for (let number = 1; number <= index; number += 1) {
      expect(number * 10 + 1 <= until || messages.some((message) => message.timestamp === number * 10), `turn ${number} of ${index}`).toBe(true);
    }
  }
  expect(Math.max(...summaries().map((each) => each.depth))).toBeGreaterThan(2);
  const whole = standing(summaries());
  const turns = (await Promise.all(whole.map((each) => engine().compactor.expand(each.id)))).flat();
  expect(turns.map((each) => each.metadata["timestamp"])).toEqual([...new Set(turns.map((each) => each.metadata["timestamp"]))]);
  expect(turns[0]?.content).toContain("question 1 ");
});

it("gives the same within a turn as long as it fits, and less after a compaction", async () => {
  const state = new State();
  const messages = Array.from({ length: 12 }, (_, index) => turn(index + 1)).flat();
  const asked = async (tokenBudget: number, prompt?: string): Promise<Message[]> =>
    (await engine(state).assemble(session, messages, { tokenBudget, prompt })).messages;
  const first = await asked(5_000, "begin");
  expect(await asked(4_900, "begin")).toEqual(first);
  expect(await asked(4_800)).toEqual(first);
  expect(size(await asked(2_000))).toBeLessThanOrEqual(2_000);
  await engine(state).compact(session, { force: true });
  expect((await asked(5_000, "begin")).length).toBeLessThan(first.length);
});

it("sees that a turn came where the prompt is the same and the host tells no times", async () => {
  const state = new State();
  const untimed = turn(1).map(({ role, content }) => ({ role, content }) as Message);
  const longer: Message[] = [...untimed, { role: "user", content: "go on" }, { role: "assistant", content: "done" }];
  const first = await engine(state).assemble(session, untimed, { tokenBudget: BUDGET, prompt: "go on" });
  expect((await engine(state).assemble(session, untimed, { tokenBudget: BUDGET, prompt: "go on" })).messages).toEqual(first.messages);
  const second = await engine(state).assemble(session, longer, { tokenBudget: BUDGET, prompt: "go on" });
  expect(second.messages).toContainEqual({ role: "assistant", content: "done" });
});

it("gives no two thoughts of a long turn the same idempotency key", async () => {
  const [question, answer] = turn(1) as [Message, Message];
  const calls = Array.from({ length: 250 }, (_, index) => ({ ...answer, content: "y".repeat(index < 5 ? 190_000 : 9) }));
  await engine().commit(session, "turn 1", [question, ...calls]);
  expect(kept).toHaveLength(251);
  expect(named.filter((name, index) => named.indexOf(name) < index)).toEqual([]);
});

it("compacts a session of any name, and remembers its sub-agents", async () => {
  for (const sessionKey of ["agent:main:проект", `agent:main:${"long".repeat(60)}`]) {
    const named = { sessionId: "s", sessionKey };
    for (let number = 1; number <= 5; number += 1) await engine().commit(named, `turn ${number}`, turn(number));
    expect((await engine().compact(named, { force: true })).compacted).toBe(true);
    await engine().adopt(`${sessionKey}:subagent:1`, sessionKey);
    expect(kept.at(-1)?.metadata).toMatchObject({ type: "subagent", parent: sessionKey });
  }
});

it("remembers only the sessions of late: what it forgot is read anew", async () => {
  const state = new State();
  for (let number = 1; number <= 120; number += 1) await engine(state).assemble({ sessionId: `s${number}` }, turn(1), { prompt: "" });
  for (const kept of [state.assembled, state.pressures, state.complete, state.summaries]) expect([...kept.keys()].at(-1)).toBe("s120");
  expect(state.assembled.size).toBeLessThanOrEqual(100);
  expect(state.pressures.size + state.complete.size + state.summaries.size).toBeLessThanOrEqual(300);
});

it("goes on from its summaries in another process", async () => {
  const before = new State();
  await talk(1, 40, before);
  const [first] = await talk(41, 41, new State());
  const [same] = await talk(41, 41, before);
  expect(first).toEqual(same);
  expect(String(first?.[0]?.content)).toContain("<openbrain-summary");
});

it("summarises a session of thousands that was brought in, and none of it twice", { timeout: 60_000 }, async () => {
  for (let part = 0; part < 3; part += 1) {
    const turns = Array.from({ length: 1_000 }, (_, index) => turn(1_000 * part + index + 1));
    expect(await engine().commit(session, `part ${part}`, turns.flat())).toBe("committed");
  }
  expect(kept).toHaveLength(6_000);
  const { compacted, tokensBefore, tokensAfter } = await engine().compact(session, { force: true, tokenBudget: BUDGET });
  expect(compacted).toBe(true);
  expect(tokensAfter).toBeLessThan(tokensBefore / 50);
  const leaves = summaries().filter((each) => each.depth === 1);
  expect(leaves.length).toBeGreaterThan(10);
  expect(leaves.every((each, index) => index === 0 || each.from > (leaves[index - 1]?.until ?? 0))).toBe(true);
  expect((await engine().compact(session, { force: true, tokenBudget: BUDGET })).compacted).toBe(false);
});

it("compacts a turn in which a short message stands between two long ones", async () => {
  for (let number = 1; number <= 4; number += 1) {
    const [question, answer] = turn(number) as [Message, Message];
    const call: Message = { role: "assistant", content: [{ type: "toolCall", name: "read" }], timestamp: number * 10 + 1 };
    const result: Message = { role: "toolResult", toolName: "read", content: "z".repeat(70_000), timestamp: number * 10 + 1 };
    const said = [question, call, result, call, result, answer].map((each, at) => ({ ...each, timestamp: number * 10 + at }));
    await engine().commit(session, `turn ${number}`, said);
  }
  expect((await engine().compact(session, { force: true, tokenBudget: BUDGET })).compacted).toBe(true);
  expect(Math.max(...summaries().map((each) => each.until))).toBe(35);
});

it("asks a model, asks for less, and does without one that says nothing", async () => {
  const answers = ["z".repeat(60_000), "what was said ".repeat(40)];
  for (let number = 1; number <= 30; number += 1) await engine().commit(session, `turn ${number}`, turn(number));
  const complete = async (): Promise<string> => answers.shift() ?? "done";
  const { summary } = await engine().compact(session, { force: true, tokenBudget: BUDGET, complete });
  expect(summary).toContain("what was said");
  for (let number = 31; number <= 60; number += 1) await engine().commit(session, `turn ${number}`, turn(number));
  const again = await engine().compact(session, { force: true, tokenBudget: BUDGET, complete });
  expect(again.reason).toBe(undefined);
  expect(again.summary).toContain("question 31 ");
});

it("asks the host's model with the signal that ends it", async () => {
  const { port } = server.address() as AddressInfo;
  const config = parseConfig({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "k" }, {});
  for (let number = 1; number <= 10; number += 1) await engine().commit(session, `turn ${number}`, turn(number));
  const asked: unknown[] = [];
  const complete = async (params: unknown): Promise<{ text: string }> => ({ text: String(asked.push(params)) });
  const host = contextEngine("openbrain", config, () => undefined);
  const { compacted } = await host.compact({ ...session, force: true, tokenBudget: BUDGET, runtimeContext: { llm: { complete } } });
  expect(compacted).toBe(true);
  expect(asked[0]).toEqual({ messages: [{ role: "user", content: expect.any(String) }], signal: expect.any(AbortSignal) });
});

it("shows a sub-agent what its parent said, in another process too, until it is taken back", async () => {
  const child = { sessionId: "c", sessionKey: "agent:main:subagent:1" };
  await engine().commit(session, "turn 1", turn(1));
  const rollback = await engine().adopt(child.sessionKey, "agent:main:main");
  const { messages } = await engine(new State()).assemble(child, [], { tokenBudget: BUDGET, prompt: "count" });
  expect(String(messages[0]?.content)).toContain("from the parent session");
  await rollback();
});

it("makes up on hosts without commits what could not be stored, once", async () => {
  const state = new State();
  const messages: Message[] = [];
  for (const number of [1, 2, 3]) {
    const before = messages.length;
    messages.push(...turn(number));
    const given = number === 2 ? { baseUrl: "http://127.0.0.1:1" } : {};
    await engine(state, given).afterTurn(session, messages, before);
    expect(kept).toHaveLength([2, 2, 6][number - 1] ?? 0);
  }
  await engine(new State()).afterTurn(session, messages, messages.length);
  expect(kept).toHaveLength(6);
});

it("makes up the turns that the host took without the engine, in order and once, also in another process", async () => {
  const messages = [...turn(1), ...turn(2)];
  await engine().commit(session, "turn 1", turn(1));
  await engine().assemble(session, [...messages, { role: "user", content: "cut off", timestamp: 25 }], { prompt: "" });
  await engine().commit(session, "turn 3", turn(3));
  const beat = turn(4).map((message) => (message.role === "user" ? message : { ...message, content: "HEARTBEAT_OK" }));
  const all = [...messages, ...turn(3)];
  await engine(new State()).assemble(session, [...all, ...beat], { prompt: "" });
  expect(kept.map((each) => each.metadata["timestamp"])).toEqual(all.map((message) => message.timestamp));
});

it("stores what the host did not commit, in order and once, also when it commits that later", async () => {
  const state = new State();
  const answer: Message = { role: "assistant", content: "one thing more", timestamp: 12 };
  const next: Message[] = [{ role: "user", content: "it waited for its turn", timestamp: 5 }, ...turn(2).slice(1)];
  await engine(state).assemble(session, [], { prompt: "" });
  await engine(state).commit(session, "turn 1", turn(1));
  await engine(state).assemble(session, [...turn(1), answer], { prompt: "" });
  await engine(state).commit(session, "turn 2", [answer]);
  await engine(state).assemble(session, [...turn(1), answer, ...next], { prompt: "" });
  await engine(new State()).assemble(session, [...turn(1), answer, ...next], { prompt: "" });
  expect(kept.map((each) => each.metadata["timestamp"])).toEqual([10, 11, 12, 5, 21]);
});

it("neither stores nor moves what the host puts before a history that begins with the model", async () => {
  const state = new State();
  const history = (now: number): Message[] => [
    { role: "user", content: "(session bootstrap)", timestamp: now },
    ...turn(1).slice(1),
    ...turn(2),
  ];
  const first = await engine(state).assemble(session, history(9_000), { prompt: "" });
  await engine(state).commit(session, "turn 3", turn(3));
  const then = await engine(state).assemble(session, [...history(9_001), ...turn(3)], { prompt: "" });
  expect(kept.map((each) => each.metadata["timestamp"])).toEqual([11, 20, 21, 30, 31]);
  expect(then.messages.slice(0, first.messages.length)).toEqual(first.messages);
  expect(first.messages[0]).toEqual({ role: "user", content: "(session bootstrap)", timestamp: 11 });
});

it.each(["at once", "within its answer"] as const)("waits once for a server that hangs %s, and then for nothing for a while", async (when) => {
  hangs = when;
  let now = 0;
  const { port } = server.address() as AddressInfo;
  const config = parseConfig({ baseUrl: `http://127.0.0.1:${port}`, apiKey: "k", timeoutMs: 1000 }, {});
  const brain = new Brain(config, () => now);
  await expect(brain.list({}, 1)).rejects.toThrow("TimeoutError");
  await expect(brain.list({}, 1)).rejects.toThrow("a moment ago");
  await expect(brain.store([], "k")).resolves.toEqual([]);
  hangs = undefined;
  now = 60_000;
  await expect(brain.list({}, 1)).resolves.toEqual([]);
});

it("keeps what is longer than a thought in pieces, and tears no character", () => {
  const text = `${"a".repeat(899_999)}😀${"b".repeat(10)}`;
  expect(pieces(text).join("")).toBe(text);
  expect(pieces(text).map((piece) => piece.length)).toEqual([899_999, 12]);
  expect(pieces("")).toEqual([]);
});

it("shows of a long text the stretch that is asked for", () => {
  const text = `${"nothing here. ".repeat(300)}The code of the depot is 4711. ${"nor here. ".repeat(300)}`;
  expect(excerpt(text, "what is the code of the depot?", 400)).toContain("4711");
  expect(excerpt("short", "code", 400)).toBe("short");
});

it("merges the shallowest neighbours", () => {
  const of = (depth: number, from: number): Summary => ({ id: String(from), text: "", from, until: from + 9, depth });
  expect(mergedNext([of(3, 0), of(2, 10), of(1, 20), of(1, 30)])).toBe(2);
  expect(mergedNext([of(1, 0), of(1, 10)])).toBe(0);
  expect(standing([of(1, 0), of(1, 10), { id: "m", text: "", from: 0, until: 19, depth: 2 }, of(1, 20)]).map((each) => each.depth)).toEqual([2, 1]);
});
