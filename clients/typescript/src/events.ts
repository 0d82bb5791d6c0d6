/** Server-sent events, read as they come. */
export interface ServerSentEvent {
  /** Empty for a comment: the server lives. */
  name: string;
  data: string;
}

export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let name = "";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // of what the end cuts off nothing is told
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines.map((each) => each.replace(/\r$/, ""))) {
        const [, field = "", text = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
        if (line === "") {
          if (data.length > 0) yield { name: name || "message", data: data.join("\n") };
          [name, data] = ["", []];
        } else if (field === "") yield { name: "", data: "" };
        else if (field === "event") name = text;
        else if (field === "data") data.push(text);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
