// Runs a sample with the built package: `node scripts/sample.mjs NAME [ARGUMENT ...]`.
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { cacheDir, inRoot } from "./lib/paths.mjs";
import { main, runAttached, SetupError } from "./lib/process.mjs";

await main(async () => {
  const [name, ...rest] = process.argv.slice(2);
  const names = readdirSync(inRoot("samples")).flatMap((file) => (file.endsWith(".ts") ? [path.parse(file).name] : []));
  if (!name || !names.includes(name)) {
    throw new SetupError(`Usage: node scripts/sample.mjs NAME [ARGUMENT ...]\nSamples: ${names.join(", ")}`);
  }
  if (!existsSync(inRoot("dist", "index.js"))) throw new SetupError("Run `npm run build` first.");
  const { build } = await import("esbuild");
  const outfile = path.join(cacheDir, "samples", `${name}.mjs`);
  const entryPoints = [inRoot("samples", `${name}.ts`)];
  await build({ entryPoints, outfile, bundle: true, packages: "external", platform: "node", format: "esm" });
  return runAttached(process.execPath, [outfile, ...rest]);
});
