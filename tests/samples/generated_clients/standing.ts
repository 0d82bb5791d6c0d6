import { Subscriber } from "./index.js";

declare const process: { argv: string[] };

const [url = "", key = ""] = process.argv.slice(2);
const say = (line: object) => console.log(JSON.stringify(line));

const told = new Set<string>();
const ear = new Subscriber({
  url,
  key,
  onSignal: async (signal) => {
    told.add(signal.source);
    if (signal.title === "the last") {
      say({ told: told.size });
      ear.close();
    } else if (signal.halt) {
      say({ title: signal.title, halted: ear.halted, scope: signal.halt_scope });
      await ear.guard();
      say({ halted: ear.halted });
    }
  },
});
await ear.run();
