/** What a prompt brings back: older turns of its session, thoughts of others, memories. It never stops a turn. */

import type { Found } from "./assembly.js";
import { fenced } from "./assembly.js";
import type { Brain, RecalledMemory, Thought } from "./brain.js";
import type { Config } from "./config.js";
import type { Message } from "./messages.js";
import { cut, textOf } from "./messages.js";
import type { State } from "./state.js";

const QUERY_CHARS = 2_000;
/** Of the room, what one of those found may take. */
const ITEM_SHARE = 0.34;
const CHARS_PER_TOKEN = 3;
const SUBAGENT = ":subagent:";

export class Recall {
  constructor(
    private readonly config: Config,
    private readonly brain: Brain,
    private readonly state: State,
    private readonly log: (line: string) => void,
  ) {}

  async recalled(key: string, prompt: string, tail: readonly Message[], room: number): Promise<string> {
    const query = cut(prompt.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Cs}]/gu, " ").trim(), 0, QUERY_CHARS);
    if (query === "" || this.config.semanticSearchLimit === 0 || this.brain.away) return "";
    return fenced("openbrain-recalled", await this.#found(key, query, tail, room), room);
  }

  async #found(key: string, query: string, tail: readonly Message[], room: number): Promise<readonly Found[]> {
    const { semanticSearchLimit: limit, minSimilarity: least } = this.config;
    const [thoughts, memories, recent] = await Promise.all([
      this.#tried(() => this.brain.search(query, 2 * limit, least)),
      this.#tried(() => this.brain.recall(query, limit, least)),
      this.#tried(() => this.#ofParent(key)),
    ]);
    const said = new Set([...tail.map(textOf), query]);
    const own = thoughts.filter((thought) => isNew(thought.content, said) && thought.metadata["type"] === "message").slice(0, limit);
    const most = room * ITEM_SHARE * CHARS_PER_TOKEN;
    return [
      ...recent.map((thought) => shown(thought, "from the parent session")),
      ...own.map((thought) => shown(thought, thought.metadata["sessionId"] === key ? "earlier in this session" : "from another session")),
      ...memories
        .filter((memory) => isNew(memory.content, said))
        .map(shownMemory),
    ].map((found) => ({ ...found, text: excerpt(found.text, query, most) }));
  }

  /** What a sub-agent's parent said last, in order. */
  async #ofParent(key: string): Promise<readonly Thought[]> {
    const limit = this.config.subagentRecentMessages;
    if (!key.includes(SUBAGENT) || limit === 0) return [];
    let parent = this.state.parents.get(key);
    if (parent === undefined) {
      const [link] = await this.brain.list({ sessionId: key, type: "subagent" }, 1);
      parent = String(link?.metadata["parent"] ?? "");
      this.state.parents.set(key, parent);
    }
    return parent === "" ? [] : [...(await this.brain.list({ sessionId: parent, type: "message" }, limit))].reverse();
  }

  async #tried<T>(ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
    try {
      return await ask();
    } catch (error) {
      this.log(`openclaw-openbrain-context: goes on without what was asked for: ${String(error)}`);
      return [];
    }
  }
}

/** Once: a forked session holds the turns of the one that it was forked from. */
function isNew(content: string, said: Set<string>): boolean {
  const known = said.has(content);
  said.add(content);
  return !known;
}

function shown(thought: Thought, where: string): Found {
  return { id: thought.id, from: `${String(thought.metadata["role"] ?? "")} ${where}`, at: thought.created_at, text: thought.content };
}

function shownMemory(memory: RecalledMemory): Found {
  const from = `${memory.type} of ${memory.agent_id ?? memory.source}`;
  return { id: memory.id, from, at: memory.occurred_at, text: memory.content };
}

/** Of a long text the stretch with most of the words that are asked for. */
export function excerpt(text: string, query: string, chars: number): string {
  if (text.length <= chars) return text;
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])];
  const low = text.toLowerCase();
  const step = Math.max(1, Math.floor(chars / 4));
  let [best, most] = [0, -1];
  for (let from = 0; from < text.length; from += step) {
    const stretch = low.slice(from, from + chars);
    const count = words.filter((word) => stretch.includes(word)).length;
    if (count > most) [best, most] = [from, count];
  }
  return `${best > 0 ? "… " : ""}${cut(text, best, best + chars)}${best + chars < text.length ? " …" : ""}`;
}
