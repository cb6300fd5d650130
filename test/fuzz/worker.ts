import { writeFileSync } from "node:fs";
import { judge } from "./judge.js";
import { mutation } from "./mutations.js";
import { seedsOf, TARGETS } from "./targets.js";

// A process of its own: it may hang or die, and the one that started it then has the input.
const [root, name, first, inputFile] = process.argv.slice(2) as [string, string, string, string];
const seeds = seedsOf(name, root);

/** Pieces of work between two signs of life. */
const SIGN_EVERY = 50;
const unhandled: unknown[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(reason));

for (let seed = Number(first); ; seed++) {
  const bytes = mutation(seeds, seed);
  writeFileSync(inputFile, bytes);
  let fault = await judge(TARGETS[name]!, bytes);
  if (seed % SIGN_EVERY === 0) await new Promise((resolve) => setImmediate(resolve));
  if (unhandled.length > 0) fault ??= `a rejection that nobody handles: ${String(unhandled.splice(0)[0])}`;
  if (fault !== undefined) process.send!({ seed, fault, bytes: Buffer.from(bytes).toString("base64") });
  else if (seed % SIGN_EVERY === 0) process.send!({ seed });
}
