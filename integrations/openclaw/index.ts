/** The plugin: registers the engine under its own id and under `openbrain`, and the agent's tools. */

import { setTimeout } from "node:timers/promises";

import { Brain } from "./src/brain.js";
import type { Config } from "./src/config.js";
import { matchesAny, OpenBrainConfigError, parseConfig } from "./src/config.js";
import type { Complete } from "./src/compaction.js";
import { Engine } from "./src/engine.js";
import type { Message } from "./src/messages.js";
import type { Session } from "./src/state.js";
import { keyOf, State } from "./src/state.js";
import { tools } from "./src/tools.js";

export { OpenBrainConfigError } from "./src/config.js";

export const PLUGIN_ID = "openclaw-openbrain-context";
export const ENGINE_ID = "openbrain";

/** What a turn waits for a compaction; one that takes longer goes on behind it. */
const MAINTAINED_MS = 1_000;

interface RuntimeContext {
  llm?: { complete?: (params: { messages: { role: "user"; content: string }[]; signal?: AbortSignal }) => Promise<unknown> };
}
interface CompactParams {
  force?: boolean;
  tokenBudget?: number;
  currentTokenCount?: number;
  runtimeContext?: RuntimeContext;
}
interface Log {
  warn?: (line: string) => void;
}

/** As much of the host's plugin API as is used here. */
export interface PluginApi {
  readonly pluginConfig?: unknown;
  readonly logger?: Log;
  registerContextEngine(id: string, factory: () => unknown): void;
  registerTool?(tool: unknown): void;
}

/** Of the process: the host makes an engine for each operation, and disposes of it. */
const state = new State();
const brains = new Map<string, Brain>();

function brainOf(config: Config): Brain {
  const key = JSON.stringify(config);
  const known = brains.get(key) ?? new Brain(config);
  brains.set(key, known);
  return known;
}

export function contextEngine(id: string, config: Config, log: (line: string) => void) {
  const engine = new Engine(config, brainOf(config), state, log);
  const skips = (session: Session): boolean => matchesAny(keyOf(session), config.ignoreSessions);
  return {
    info: {
      id,
      name: "OpenBrain context",
      version: "0.1.0",
      ownsCompaction: true,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1" as const,
        turnAdvancementIdempotency: "atomic-idempotent-v1" as const,
      },
      hostRequirements: {
        "agent-run": {
          requiredCapabilities: ["assemble-before-prompt" as const],
          unsupportedMessage: "openclaw-openbrain-context needs OpenClaw's own agent runtime, or select the legacy context engine.",
        },
      },
    },
    async bootstrap(session: Session) {
      if (skips(session)) return { bootstrapped: false, reason: "the session is ignored" };
      await engine.compactor.summaries(keyOf(session));
      return { bootstrapped: true };
    },
    async commitTurn(params: Session & { advancementKey: string; messages: Message[]; isHeartbeat?: boolean }) {
      if (params.isHeartbeat) return { status: "committed" as const };
      return { status: await engine.commit(params, params.advancementKey, params.messages) };
    },
    async ingest(params: Session & { message: Message; isHeartbeat?: boolean }) {
      return { ingested: !params.isHeartbeat && (await engine.ingest(params, [params.message])) > 0 };
    },
    async ingestBatch(params: Session & { messages: Message[]; isHeartbeat?: boolean }) {
      return { ingestedCount: params.isHeartbeat ? 0 : await engine.ingest(params, params.messages) };
    },
    async afterTurn(params: Session & { messages: Message[]; prePromptMessageCount: number; isHeartbeat?: boolean }) {
      if (!params.isHeartbeat) await engine.afterTurn(params, params.messages, params.prePromptMessageCount);
    },
    async assemble(params: Session & { messages: Message[]; tokenBudget?: number; prompt?: string }) {
      return engine.assemble(params, params.messages, params);
    },
    /** What it throws would have the host leave the engine alone until it is started anew. */
    async compact(params: Session & CompactParams) {
      const complete = completion(params.runtimeContext);
      try {
        const { force, tokenBudget } = params;
        const { compacted, reason, summary, ...sizes } = await engine.compact(params, { force, tokenBudget, complete });
        const told = { ...(summary === undefined ? {} : { summary }), tokensBefore: params.currentTokenCount ?? sizes.tokensBefore };
        return { ok: true, compacted, ...(reason === undefined ? {} : { reason }), result: { ...told, tokensAfter: sizes.tokensAfter } };
      } catch (error) {
        log(`openclaw-openbrain-context: not compacted: ${String(error)}`);
        return { ok: false, compacted: false, reason: String(error) };
      }
    },
    /** In the foreground: what is deferred, the host puts off as long as one turn follows the other. */
    async maintain(params: Session & { runtimeContext?: RuntimeContext; abortSignal?: AbortSignal }) {
      const relieved = engine.relieve(params, { complete: completion(params.runtimeContext), signal: params.abortSignal });
      await Promise.race([relieved, setTimeout(MAINTAINED_MS, undefined, { ref: false })]);
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },
    async prepareSubagentSpawn(params: { parentSessionKey: string; childSessionKey: string }) {
      return { rollback: await engine.adopt(params.childSessionKey, params.parentSessionKey) };
    },
    async onSubagentEnded(params: { childSessionKey: string }) {
      state.forget(params.childSessionKey);
    },
    async dispose() {
      return undefined;
    },
  };
}

function completion(context: RuntimeContext | undefined): Complete | undefined {
  const complete = context?.llm?.complete;
  if (complete === undefined) return undefined;
  return async ({ prompt, signal }) => {
    const answer = await complete({ messages: [{ role: "user", content: prompt }], signal });
    const { text, content } = (answer ?? {}) as { text?: unknown; content?: unknown };
    return typeof text === "string" ? text : typeof content === "string" ? content : "";
  };
}

export default {
  id: PLUGIN_ID,
  name: "OpenBrain context",
  description: "Every turn is kept in OpenBrain, and what matters comes back within the token budget.",
  register(api: PluginApi): void {
    const log = (line: string): void => (api.logger?.warn ?? console.warn)(line);
    const config = (): Config => parseConfig(api.pluginConfig);
    try {
      config();
    } catch (error) {
      if (!(error instanceof OpenBrainConfigError)) throw error;
      log(error.message);
    }
    for (const id of [PLUGIN_ID, ENGINE_ID]) {
      api.registerContextEngine(id, () => contextEngine(id, config(), log));
    }
    const brain = (): Brain => brainOf(config());
    const engine = (): Engine => new Engine(config(), brain(), state, log);
    for (const tool of tools(brain, () => engine().compactor, () => config().minSimilarity)) api.registerTool?.(tool);
  },
};
