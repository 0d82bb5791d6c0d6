import { Subscriber } from "./index.js";

declare const process: { argv: string[] };

const [url = "", key = "", after] = process.argv.slice(2);
const say = (line: object) => console.log(JSON.stringify(line));

const ear = new Subscriber({
  url,
  key,
  project: "mine",
  ...(after === undefined ? {} : { after: Number(after) }),
  onSignal: (signal) => {
    say({ title: signal.title, halted: ear.halted });
    if (signal.title === "the last") ear.close();
  },
});
const running = ear.run();
await ear.guard();
say({ heard: ear.cursor });
if (after === undefined) ear.close();
await running;
