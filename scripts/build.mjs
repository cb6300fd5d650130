// Builds everything: `npm run build [-- --debug | --asan | --tsan]`.
import { variantNames } from "./lib/cmake.mjs";
import { withLock } from "./lib/lock.mjs";
import { main, SetupError } from "./lib/process.mjs";
import { build } from "./lib/tasks.mjs";

await main(async () => {
  const flags = process.argv.slice(2);
  const variants = flags.map((flag) => flag.replace(/^--/, ""));
  const unknown = variants.find((name) => !variantNames.includes(name));
  if (unknown || variants.length > 1) {
    throw new SetupError(`Usage: node scripts/build.mjs [${variantNames.map((name) => `--${name}`).join(" | ")}]`);
  }
  const variant = variants[0] ?? "release";
  await withLock(() => build({ variant, withTypeScript: variant === "release" || variant === "debug" }));
});
