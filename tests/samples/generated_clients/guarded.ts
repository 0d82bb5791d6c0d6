import { Subscriber } from "./index.js";

declare const process: { argv: string[] };

const [url = "", key = ""] = process.argv.slice(2);
const ear = new Subscriber({ url, key, project: "mine", onSignal: () => undefined });
const running = ear.run();
await ear.guard();
console.log(JSON.stringify({ heard: ear.cursor }));
ear.close();
await running;
