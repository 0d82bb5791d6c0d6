/** Messages of the host, as far as the engine looks at them. */

export interface Part {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly id?: string;
  readonly arguments?: unknown;
}

export interface Message {
  readonly role: string;
  readonly content?: string | readonly Part[];
  /** Of what the host itself wrote in between, a text. */
  readonly timestamp?: number | string;
  readonly toolName?: string;
  readonly toolCallId?: string;
}

/** Of the server. */
const THOUGHT_CHARS = 900_000;
const CHARS_PER_TOKEN = 3;
const TOKENS_PER_MESSAGE = 8;
const INJECTED = /<(openbrain-(?:recalled|summary|parent)|relevant-memories)\b[^>]*>[\s\S]*?<\/\1>\s*/g;

/** When it was said, in milliseconds; 0 where the host does not say. */
export function saidAt({ timestamp }: Message): number {
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : (timestamp ?? 0);
  return Number.isFinite(time) ? time : 0;
}

/** An estimate that errs to the safe side: hosts count four characters a token. */
export function tokens(message: Message): number {
  return TOKENS_PER_MESSAGE + Math.ceil(JSON.stringify(message.content ?? message).length / CHARS_PER_TOKEN);
}

/** What is said, with tool calls and results in words; reasoning and what was injected are left out. */
export function textOf(message: Message): string {
  const { content } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  const said = parts.map(partText).filter((text) => text !== "");
  // Hosts and tools cut texts anywhere: half a character can't be written as UTF-8.
  const body = said.join("\n").replace(INJECTED, "").replace(/\p{Cs}/gu, "\ufffd").trim();
  return message.role === "toolResult" && body ? `[result of ${message.toolName ?? "a tool"}]\n${body}` : body;
}

/** What is longer than a thought may be, in pieces; no character is torn in two. */
export function pieces(text: string): string[] {
  const all: string[] = [];
  for (let from = 0; from < text.length; ) {
    const piece = cut(text, from, from + THOUGHT_CHARS);
    all.push(piece);
    from += piece.length;
  }
  return all;
}

/** A part of a text; a character at an edge goes whole to what follows. */
export function cut(text: string, from: number, to: number): string {
  return text.slice(edge(text, from), edge(text, to));
}

function edge(text: string, at: number): number {
  const place = Math.floor(at);
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, place - 1), place + 1)) ? place - 1 : place;
}

/** What hosts put before a history that begins with the model, for providers that want the user first; at another time each turn. */
export const BOOTSTRAP = "(session bootstrap)";

/** Whether a message holds nothing but what was injected: by us, by another plugin, or by the host. */
export function isInjected({ role, content }: Message): boolean {
  if (role !== "user" || typeof content !== "string" || content === "") return false;
  return content.trim() === BOOTSTRAP || textOf({ role, content }) === "";
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text ?? "";
    case "toolCall":
      return `[call of ${part.name ?? "a tool"} ${JSON.stringify(part.arguments ?? {})}]`;
    case "image":
      return "[image]";
    default:
      return "";
  }
}

export function size(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokens(message), 0);
}

/** Messages from one of the user to that before the next: tool calls and their results never part. */
export function turns(messages: readonly Message[]): Message[][] {
  const groups: Message[][] = [];
  for (const message of messages) {
    const last = groups.at(-1);
    if (last === undefined || message.role === "user") groups.push([message]);
    else last.push(message);
  }
  return groups;
}

/** Whether the last word is the model's, and no call of a tool. */
export function isFinished(turn: readonly Message[]): boolean {
  const last = turn.findLast((message) => message.role !== "custom");
  const calls = Array.isArray(last?.content) && last.content.some((part: Part) => part.type === "toolCall");
  return last?.role === "assistant" && !calls && textOf(last) !== "";
}

/** When the last message of a turn was, in milliseconds; 0 where the host does not say. */
export function endedAt(turn: readonly Message[]): number {
  return Math.max(0, ...turn.map(saidAt));
}
