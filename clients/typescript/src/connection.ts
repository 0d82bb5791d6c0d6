/** A connection to the API: its functions, its headers, its refusals. */
import createClient, { type Client } from "openapi-fetch";
import type { paths } from "./schema.js";

/** One server, one key. `agent` speaks for that agent, where the key may. */
export interface Server {
  url: string;
  key: string;
  agent?: string;
}

/** A refused request: what the server says, and which field it means. */
export class OpenBrainError extends Error {
  override readonly name = "OpenBrainError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field: string | null = null,
  ) {
    super(message);
  }
}

export type OpenBrain = Client<paths>;

/** A function for every route: `brain.POST("/v1/brain/remember", { body })`. It throws `OpenBrainError`. */
export function connect(server: Server): OpenBrain {
  const brain = createClient<paths>({ baseUrl: server.url.replace(/\/+$/, ""), headers: headersOf(server) });
  brain.use({
    async onResponse({ response }) {
      if (!response.ok) throw await refusal(response);
    },
  });
  return brain;
}

export function headersOf(server: Server): Record<string, string> {
  const agent = server.agent ? { "X-OpenBrain-Agent": encodeURIComponent(server.agent) } : {};
  return { Authorization: `Bearer ${server.key}`, ...agent };
}

export async function refusal(response: Response): Promise<OpenBrainError> {
  const text = await response.text();
  let said: { error?: string; message?: string; field?: string } = {};
  try {
    said = (JSON.parse(text) ?? {}) as typeof said;
  } catch {
    // Something between us and the server answered.
  }
  const message = said.message ?? `the server answered ${response.status}`;
  return new OpenBrainError(response.status, said.error ?? "unknown", message, said.field ?? null);
}
