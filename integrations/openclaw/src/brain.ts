/** The few requests to OpenBrain that the engine makes, each with a time limit. Where it hangs, it is left alone for a while. */

import { createHash } from "node:crypto";

import type { Config } from "./config.js";

export interface Thought {
  readonly id: string;
  readonly content: string;
  readonly source: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly created_at: string;
  readonly similarity?: number | null;
}

export interface NewThought {
  readonly content: string;
  readonly source: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface BatchItem {
  readonly status: "created" | "duplicate" | "refused";
  readonly id: string | null;
  readonly message?: string;
}

export interface RecalledMemory {
  readonly id: string;
  readonly content: string;
  readonly type: string;
  readonly agent_id: string | null;
  readonly source: string;
  readonly occurred_at: string;
  readonly similarity?: number | null;
}

/** Members of the metadata with these values. */
export type Filter = Readonly<Record<string, string | number | boolean>>;

const PAUSE_MS = 10_000;
const PAGE = 100;
/** What one batch holds at most, so that it is stored within the limit of a request. */
const BATCH = { thoughts: 100, chars: 1_000_000 };

export class OpenBrainUnavailable extends Error {
  override name = "OpenBrainUnavailable";
}

export class Brain {
  #until = 0;

  constructor(
    private readonly config: Config,
    private readonly now: () => number = Date.now,
  ) {}

  /** Whether it has just let a request wait in vain, so that nobody waits for another. What is refused at once costs nothing. */
  get away(): boolean {
    return this.now() < this.#until;
  }

  /** In order; `key` names what is stored, however often it is offered. */
  async store(thoughts: readonly NewThought[], key: string): Promise<readonly BatchItem[]> {
    const results: BatchItem[] = [];
    for (const [number, batch] of batches(thoughts).entries()) {
      const headers = { "idempotency-key": inHeader(number === 0 ? key : `${key}+${number}`) };
      const answer = await this.#request("POST", "/v1/thoughts:batch", { thoughts: batch }, headers);
      results.push(...(answer as { results: BatchItem[] }).results);
    }
    return results;
  }

  async search(query: string, limit: number, minSimilarity: number, metadata?: Filter): Promise<readonly Thought[]> {
    const body = { query, limit, min_similarity: minSimilarity, ...(metadata ? { metadata } : {}) };
    return listed(await this.#request("POST", "/v1/search", body));
  }

  async recall(query: string, limit: number, minSimilarity: number): Promise<readonly RecalledMemory[]> {
    const body = { query, top_k: limit, min_similarity: minSimilarity };
    return ((await this.#request("POST", "/v1/brain/recall", body)) as { memories: RecalledMemory[] }).memories;
  }

  /** At most `limit` of the newest, newest first. */
  async list(metadata: Filter, limit: number): Promise<readonly Thought[]> {
    return (await this.#page(metadata, Math.min(limit, PAGE), null)).thoughts;
  }

  /** All of them, newest first, page by page as they are asked for. */
  async *newest(metadata: Filter): AsyncGenerator<Thought> {
    let cursor: string | null = null;
    do {
      const page: Page = await this.#page(metadata, PAGE, cursor);
      yield* page.thoughts;
      cursor = page.next;
    } while (cursor);
  }

  async #page(metadata: Filter, limit: number, cursor: string | null): Promise<Page> {
    const query = new URLSearchParams({ limit: String(limit) });
    for (const [name, value] of Object.entries(metadata)) query.append(`metadata.${name}`, String(value));
    if (cursor) query.append("cursor", cursor);
    const { text, headers } = await this.#fetch("GET", `/v1/thoughts?${query.toString()}`);
    return { thoughts: listed(JSON.parse(text)), next: headers.get("x-next-cursor") };
  }

  async thought(id: string): Promise<Thought> {
    return (await this.#request("GET", `/v1/thoughts/${encodeURIComponent(id)}`)) as Thought;
  }

  async remove(id: string): Promise<void> {
    await this.#fetch("DELETE", `/v1/thoughts/${encodeURIComponent(id)}`);
  }

  async #request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<unknown> {
    return JSON.parse((await this.#fetch(method, path, body, headers)).text);
  }

  async #fetch(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    if (this.away) throw new OpenBrainUnavailable(`OpenBrain did not answer at ${this.config.baseUrl} a moment ago`);
    let response: Response;
    let text: string;
    try {
      response = await fetch(this.config.baseUrl + path, {
        method,
        headers: {
          authorization: `Bearer ${this.config.apiKey}`,
          accept: "application/json",
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(this.config.timeoutMs),
      });
      text = await response.text();
    } catch (error) {
      if (error instanceof Error && error.name === "TimeoutError") this.#until = this.now() + PAUSE_MS;
      throw new OpenBrainUnavailable(`OpenBrain does not answer at ${this.config.baseUrl}: ${String(error)}`);
    }
    if (response.status >= 500 || response.status === 429) {
      throw new OpenBrainUnavailable(`OpenBrain is not ready: ${response.status} ${reason(text)}`);
    }
    if (!response.ok) throw new Error(`OpenBrain refuses: ${response.status} ${reason(text)}`);
    return { text, headers: response.headers };
  }
}

interface Answer {
  readonly text: string;
  readonly headers: Headers;
}

interface Page {
  readonly thoughts: readonly Thought[];
  readonly next: string | null;
}

function batches(thoughts: readonly NewThought[]): NewThought[][] {
  const all: NewThought[][] = [];
  let chars = 0;
  for (const thought of thoughts) {
    const last = all.at(-1);
    if (last === undefined || last.length === BATCH.thoughts || chars + thought.content.length > BATCH.chars) {
      all.push([thought]);
      chars = thought.content.length;
    } else {
      last.push(thought);
      chars += thought.content.length;
    }
  }
  return all;
}

/** As a header and the server take it: names of sessions may be long, and in any script. */
function inHeader(key: string): string {
  return /^[!-~ ]{1,255}$/.test(key) ? key : createHash("sha256").update(key).digest("hex");
}

/** Servers answer with a list, or with one under a name. */
function listed(answer: unknown): readonly Thought[] {
  if (Array.isArray(answer)) return answer as Thought[];
  const named = answer as { thoughts?: Thought[]; results?: Thought[] };
  return named.thoughts ?? named.results ?? [];
}

function reason(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? "";
  } catch {
    return "";
  }
}
