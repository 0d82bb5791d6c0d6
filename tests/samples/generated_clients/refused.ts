import { Subscriber } from "./index.js";

declare const process: { argv: string[] };

const [url = ""] = process.argv.slice(2);
const ear = new Subscriber({ url, key: "ob_none", onSignal: () => undefined });
const [run, guard] = await Promise.allSettled([ear.run(), ear.guard()]);
console.log(JSON.stringify({ run: run.status, guard: guard.status }));
