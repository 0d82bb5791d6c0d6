import { connect, OpenBrainError, Subscriber } from "./index.js";

declare const process: { argv: string[] };

const [url = "", key = ""] = process.argv.slice(2);
const brain = connect({ url, key });
const say = (line: object) => console.log(JSON.stringify(line));

const stored = await brain.POST("/v1/brain/remember", {
  params: { header: { Prefer: "wait=20" } },
  body: { content: "Deploys are on Tuesdays.", type: "convention" },
});
const found = await brain.POST("/v1/brain/recall", { body: { query: "when are deploys?" } });
say({ stored: stored.data?.id, found: found.data?.memories[0]?.id });
await brain.POST("/v1/brain/recall", { body: { query: "" } }).catch((error: unknown) => {
  if (error instanceof OpenBrainError) say({ refused: error.field, status: error.status });
});
// @ts-expect-error: `content` is missing
void (() => brain.POST("/v1/brain/remember", { body: { type: "convention" } }));

let failures = 1;
const ear = new Subscriber({
  url,
  key,
  onSignal: (signal) => {
    if (failures-- > 0) throw new Error("once");
    say({ seq: signal.seq, title: signal.title, halted: ear.halted });
    if (signal.title === "the last") ear.close();
  },
});
await ear.run();
say({ cursor: ear.cursor });
