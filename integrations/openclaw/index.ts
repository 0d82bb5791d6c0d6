/** The plugin: registers the engine under its own id and under `openbrain`, and the agent's tools. */

import { Brain } from "./src/brain.js";
import type { Config } from "./src/config.js";
import { matchesAny, OpenBrainConfigError, parseConfig } from "./src/config.js";
import type { Complete, State } from "./src/engine.js";
import { Engine, keyOf } from "./src/engine.js";
import type { Message } from "./src/messages.js";
import { tools } from "./src/tools.js";

export { OpenBrainConfigError } from "./src/config.js";

export const PLUGIN_ID = "openclaw-openbrain-context";
export const ENGINE_ID = "openbrain";

interface Session {
  sessionId: string;
  sessionKey?: string;
}
interface RuntimeContext {
  llm?: { complete?: (params: Record<string, unknown>) => Promise<unknown> };
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
const state: State = { summaries: new Map(), parents: new Map() };
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
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
      hostRequirements: {
        "agent-run": {
          requiredCapabilities: ["assemble-before-prompt"],
          unsupportedMessage: "openclaw-openbrain-context needs OpenClaw's own agent runtime, or select the legacy context engine.",
        },
      },
    },
    async bootstrap(session: Session) {
      return skips(session) ? { bootstrapped: false, reason: "the session is ignored" } : { bootstrapped: true };
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
      if (!params.isHeartbeat) await engine.ingest(params, params.messages.slice(params.prePromptMessageCount));
    },
    async assemble(params: Session & { messages: Message[]; tokenBudget?: number; prompt?: string }) {
      return engine.assemble(params, params.messages, params);
    },
    async compact(params: Session & { force?: boolean; currentTokenCount?: number; runtimeContext?: RuntimeContext }) {
      const done = await engine.compact(params, { force: params.force, complete: completion(params.runtimeContext) });
      const { summary, tokensBefore, tokensAfter } = done;
      return {
        ok: true,
        compacted: done.compacted,
        ...(done.reason === undefined ? {} : { reason: done.reason }),
        result: {
          ...(summary === undefined ? {} : { summary }),
          tokensBefore: params.currentTokenCount ?? tokensBefore,
          tokensAfter,
        },
      };
    },
    async maintain() {
      return { changed: false, bytesFreed: 0, rewrittenEntries: 0 };
    },
    async prepareSubagentSpawn(params: { parentSessionKey: string; childSessionKey: string }) {
      state.parents.set(params.childSessionKey, params.parentSessionKey);
      return { rollback: () => void state.parents.delete(params.childSessionKey) };
    },
    async onSubagentEnded(params: { childSessionKey: string }) {
      state.parents.delete(params.childSessionKey);
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
    const answer = await complete({ prompt, messages: [{ role: "user", content: prompt }], abortSignal: signal });
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
    for (const tool of tools(brain, engine, () => config().minSimilarity)) api.registerTool?.(tool);
  },
};
