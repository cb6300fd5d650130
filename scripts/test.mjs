// Sets everything up and runs all tests: `npm test [-- --sanitizers] [-- vitest arguments]`.
import { mkdirSync, rmSync } from "node:fs";
import path from "node:path";
import { engineTest, engineTestsExist, sanitizerEnvironment } from "./lib/cmake.mjs";
import { closingLine, countEngine, countVitest, sumCounts } from "./lib/counts.mjs";
import { withLock } from "./lib/lock.mjs";
import { cacheDir, inRoot } from "./lib/paths.mjs";
import { CommandError, main, run, runAttached } from "./lib/process.mjs";
import { readStamp } from "./lib/stamp.mjs";
import { step } from "./lib/step.mjs";
import { build, fetchModels } from "./lib/tasks.mjs";

const vitestArguments = process.argv.slice(2).filter((argument) => argument !== "--sanitizers");
const sanitizers = process.argv.includes("--sanitizers") ? ["asan", "tsan"] : [];

/** Runs the C++ tests of one variant and shows their output only if something failed. */
async function runEngineTests(variant) {
  let output;
  let exitCode = 0;
  await step(`C++ engine tests (${variant})`, async () => {
    try {
      output = await run(engineTest(variant), [], { env: sanitizerEnvironment() });
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      output = `${error.output}\n${error.message}\n`;
      exitCode = 1;
    }
  });
  const counts = countEngine(output, exitCode);
  if (counts.failed > 0) process.stderr.write(`${output}\n`);
  return counts;
}

async function runVitest() {
  const reportFile = path.join(cacheDir, `vitest-${process.pid}.json`);
  mkdirSync(cacheDir, { recursive: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  const vitest = inRoot("node_modules", "vitest", "vitest.mjs");
  const exitCode = await runAttached(process.execPath, [vitest, "run", ...reporters, ...vitestArguments]);
  const report = readStamp(reportFile);
  rmSync(reportFile, { force: true });
  return countVitest(report, exitCode);
}

await main(async () => {
  const engineVariants = engineTestsExist() ? ["release", ...sanitizers] : [];
  await withLock(async () => {
    await build();
    for (const variant of engineVariants.slice(1)) await build({ variant, withTypeScript: false });
    await fetchModels();
  });
  const counts = [];
  // With arguments the caller wants some vitest tests, not the C++ ones.
  const variants = vitestArguments.length === 0 ? engineVariants : [];
  for (const variant of variants) counts.push(await runEngineTests(variant));
  counts.push(await runVitest());
  const total = sumCounts(counts);
  process.stdout.write(`${closingLine(total)}\n`);
  return total.failed === 0 && total.passed > 0 ? 0 : 1;
});
