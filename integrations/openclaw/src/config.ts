/** Settings of the plugin: its entry in openclaw.json first, then the environment. There is no default host or key. */

export class OpenBrainConfigError extends Error {
  override name = "OpenBrainConfigError";

  constructor() {
    super(
      "openclaw-openbrain-context: baseUrl and apiKey are required. Set them in your openclaw.json plugin config.",
    );
  }
}

export interface Config {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** First part of the source of every thought: `<source>:<agentId>`. */
  readonly source: string;
  /** Turns that a compaction leaves as they are. */
  readonly recentMessages: number;
  /** Older turns and memories that a prompt may bring back. */
  readonly semanticSearchLimit: number;
  /** Messages of the parent that a sub-agent begins with. */
  readonly subagentRecentMessages: number;
  /** What is less similar to the prompt is not brought back. */
  readonly minSimilarity: number;
  /** Of each request, in milliseconds. */
  readonly timeoutMs: number;
  /** Session keys, with `*`, that the engine leaves alone. */
  readonly ignoreSessions: readonly string[];
  /** Session keys, with `*`, of which nothing is stored. */
  readonly statelessSessions: readonly string[];
}

type Given = Record<string, unknown>;

export function parseConfig(given: unknown, environment: NodeJS.ProcessEnv = process.env): Config {
  const entry: Given = typeof given === "object" && given !== null ? (given as Given) : {};
  const baseUrl = text(entry["baseUrl"]) || text(environment["OPENBRAIN_URL"]);
  const apiKey = text(entry["apiKey"]) || text(environment["OPENBRAIN_API_KEY"]);
  if (!baseUrl || !apiKey) throw new OpenBrainConfigError();
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKey,
    source: text(entry["source"]) || "openclaw",
    recentMessages: number(entry["recentMessages"], 20),
    semanticSearchLimit: number(entry["semanticSearchLimit"], 10),
    subagentRecentMessages: number(entry["subagentRecentMessages"], 8),
    minSimilarity: number(entry["minSimilarity"], 0.3),
    timeoutMs: number(entry["timeoutMs"], 1500),
    ignoreSessions: texts(entry["ignoreSessions"]),
    statelessSessions: texts(entry["statelessSessions"]),
  };
}

export function matchesAny(sessionKey: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(sessionKey);
  });
}

function text(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function number(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isFinite(value) ? value : otherwise;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
