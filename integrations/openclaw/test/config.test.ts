import { expect, it } from "vitest";

import plugin, { contextEngine, ENGINE_ID, OpenBrainConfigError, PLUGIN_ID } from "../index.js";
import { fenced, summaryMessage } from "../src/assembly.js";
import { matchesAny, parseConfig } from "../src/config.js";
import { deterministicSummary, SUMMARY_TOKENS } from "../src/summary.js";

const session = { sessionId: "s", sessionKey: "agent:main:main" };
const GIVEN = { baseUrl: "http://127.0.0.1:1/", apiKey: "k" };

it("has no default host or key, and says what is missing", () => {
  for (const given of [undefined, {}, { baseUrl: "http://h" }, { apiKey: "k" }, { baseUrl: " ", apiKey: "k" }]) {
    expect(() => parseConfig(given, {})).toThrow(OpenBrainConfigError);
    expect(() => parseConfig(given, {})).toThrow(
      "openclaw-openbrain-context: baseUrl and apiKey are required. Set them in your openclaw.json plugin config.",
    );
  }
  expect(parseConfig({}, { OPENBRAIN_URL: "https://b", OPENBRAIN_API_KEY: "k" })).toMatchObject({ baseUrl: "https://b" });
  expect(parseConfig(GIVEN, { OPENBRAIN_URL: "https://b" })).toMatchObject({ baseUrl: "http://127.0.0.1:1", source: "openclaw" });
});

it("matches session keys", () => {
  expect(matchesAny("agent:main:cron:7", ["agent:*:cron:*"])).toBe(true);
  expect(matchesAny("agent:main:main", ["agent:*:cron:*", "x.y"])).toBe(false);
});

it("registers the engine under both ids and its tools, and tells of a missing key at once", () => {
  const engines = new Map<string, () => unknown>();
  const tools: string[] = [];
  const lines: string[] = [];
  const api = {
    logger: { warn: (line: string) => void lines.push(line) },
    registerContextEngine: (id: string, factory: () => unknown) => void engines.set(id, factory),
    registerTool: (tool: unknown) => void tools.push((tool as { name: string }).name),
  };
  plugin.register({ ...api, pluginConfig: GIVEN });
  expect([...engines.keys()]).toEqual([PLUGIN_ID, ENGINE_ID]);
  expect(tools).toEqual(["openbrain_search", "openbrain_expand", "openbrain_describe"]);
  expect((engines.get(ENGINE_ID)?.() as ReturnType<typeof contextEngine>).info.id).toBe(ENGINE_ID);
  expect(lines).toEqual([]);

  plugin.register({ ...api, pluginConfig: {} });
  expect(lines[0]).toContain("baseUrl and apiKey are required");
  expect(engines.get(PLUGIN_ID)).toThrow(OpenBrainConfigError);
});

it("goes on without OpenBrain, and offers the turn again", async () => {
  const lines: string[] = [];
  const engine = contextEngine(PLUGIN_ID, parseConfig({ ...GIVEN, timeoutMs: 200 }), (line) => void lines.push(line));
  const messages = [{ role: "user", content: "hello", timestamp: 1 }];
  const { messages: assembled } = await engine.assemble({ ...session, messages, tokenBudget: 1_000, prompt: "hello" });
  expect(assembled).toEqual(messages);
  await expect(engine.commitTurn({ ...session, advancementKey: "a", messages })).rejects.toThrow("does not answer");
  expect(lines.at(-1)).toContain("a turn is not stored yet, and offered again: OpenBrainUnavailable: OpenBrain does not answer");
});

it("leaves out what an earlier assembly has injected", async () => {
  const engine = contextEngine(PLUGIN_ID, parseConfig({ ...GIVEN, timeoutMs: 200 }), () => undefined);
  const messages = [{ role: "user", content: "hello", timestamp: 1 }];
  const found = [{ id: "1", from: "user", at: "now", text: "older" }];
  const injected = [fenced("openbrain-recalled", found, 1_000), summaryMessage({ id: "2", text: "old", from: 0, until: 0, depth: 1 }).content];
  const again = [...messages, ...injected.map((content) => ({ role: "user", content: String(content), timestamp: 1 }))];
  const { messages: assembled } = await engine.assemble({ ...session, messages: again, tokenBudget: 1_000, prompt: "hello" });
  expect(assembled).toEqual(messages);
});

it("summarises in fewer words whatever there is", () => {
  const thoughts = Array.from({ length: 3_000 }, (_, number) => ({
    id: String(number),
    content: `message ${number} `.repeat(30),
    source: "",
    metadata: { role: "user" },
    created_at: "",
  }));
  const text = deterministicSummary(thoughts);
  expect(text.length).toBeLessThanOrEqual(SUMMARY_TOKENS * 3 + 200);
  expect(text).toContain("message 0 ");
  expect(text).toContain("message 2999 ");
  expect(text).toMatch(/\d+ lines between/);
});
