// Fetches the OpenVINO runtime into native/runtime if it is not there: `node scripts/fetch-runtime.mjs [--force]`.
import { withLock } from "./lib/lock.mjs";
import { main } from "./lib/process.mjs";
import { fetchRuntime, runtimeIsPresent } from "./lib/runtime.mjs";
import { step } from "./lib/step.mjs";

await main(() =>
  withLock(async () => {
    if (runtimeIsPresent() && !process.argv.includes("--force")) return;
    await step("Fetching the OpenVINO runtime", fetchRuntime);
  }),
);
