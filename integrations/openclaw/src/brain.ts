/** The few requests to OpenBrain that the engine makes, each with a time limit; after failures in a row reads are skipped. */

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

const FAILURES = 3;
const PAUSE_MS = 30_000;
export const PAGE = 100;

export class OpenBrainUnavailable extends Error {
  override name = "OpenBrainUnavailable";
}

export class Brain {
  #failures = 0;
  #until = 0;

  constructor(
    private readonly config: Config,
    private readonly now: () => number = Date.now,
  ) {}

  /** Whether requests fail just now, so that what can wait is not asked for. */
  get away(): boolean {
    return this.#failures >= FAILURES && this.now() < this.#until;
  }

  async store(thoughts: readonly NewThought[], key: string): Promise<readonly BatchItem[]> {
    const answer = await this.#request("POST", "/v1/thoughts:batch", { thoughts }, { "idempotency-key": key });
    return (answer as { results: BatchItem[] }).results;
  }

  async search(query: string, limit: number, minSimilarity: number, metadata?: Filter): Promise<readonly Thought[]> {
    const body = { query, limit, min_similarity: minSimilarity, ...(metadata ? { metadata } : {}) };
    return listed(await this.#request("POST", "/v1/search", body));
  }

  async recall(query: string, limit: number, minSimilarity: number): Promise<readonly RecalledMemory[]> {
    const body = { query, top_k: limit, min_similarity: minSimilarity };
    return ((await this.#request("POST", "/v1/brain/recall", body)) as { memories: RecalledMemory[] }).memories;
  }

  /** Newest first, at most `limit`. */
  async list(metadata: Filter, limit: number): Promise<readonly Thought[]> {
    const found: Thought[] = [];
    let cursor: string | null = null;
    do {
      const query = new URLSearchParams({ limit: String(Math.min(PAGE, limit - found.length)) });
      for (const [name, value] of Object.entries(metadata)) query.append(`metadata.${name}`, String(value));
      if (cursor) query.append("cursor", cursor);
      const response = await this.#fetch("GET", `/v1/thoughts?${query.toString()}`);
      found.push(...listed(await response.json()));
      cursor = response.headers.get("x-next-cursor");
    } while (cursor && found.length < limit);
    return found;
  }

  async thought(id: string): Promise<Thought> {
    return (await this.#request("GET", `/v1/thoughts/${encodeURIComponent(id)}`)) as Thought;
  }

  async #request(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<unknown> {
    return (await this.#fetch(method, path, body, headers)).json();
  }

  async #fetch(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    let response: Response;
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
    } catch (error) {
      this.#failed();
      throw new OpenBrainUnavailable(`OpenBrain does not answer at ${this.config.baseUrl}: ${String(error)}`);
    }
    if (response.status >= 500 || response.status === 429) {
      this.#failed();
      throw new OpenBrainUnavailable(`OpenBrain is not ready: ${response.status} ${await reason(response)}`);
    }
    this.#failures = 0;
    if (!response.ok) throw new Error(`OpenBrain refuses: ${response.status} ${await reason(response)}`);
    return response;
  }

  #failed(): void {
    this.#failures += 1;
    this.#until = this.now() + PAUSE_MS;
  }
}

/** Servers answer with a list, or with one under a name. */
function listed(answer: unknown): readonly Thought[] {
  if (Array.isArray(answer)) return answer as Thought[];
  const named = answer as { thoughts?: Thought[]; results?: Thought[] };
  return named.thoughts ?? named.results ?? [];
}

async function reason(response: Response): Promise<string> {
  try {
    return ((await response.json()) as { message?: string }).message ?? "";
  } catch {
    return "";
  }
}
