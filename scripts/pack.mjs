// Makes the two tarballs of a release in `packages/` (or the folder given): `node scripts/pack.mjs [FOLDER]`.
import path from "node:path";
import { withLock } from "./lib/lock.mjs";
import { packAll } from "./lib/pack.mjs";
import { inRoot } from "./lib/paths.mjs";
import { main } from "./lib/process.mjs";
import { step } from "./lib/step.mjs";
import { build } from "./lib/tasks.mjs";

await main(() =>
  withLock(async () => {
    await build();
    const folder = process.argv[2] ? path.resolve(process.argv[2]) : inRoot("packages");
    const files = await step("Packing", () => packAll(folder));
    for (const file of files) process.stdout.write(`${file}\n`);
  }),
);
