// From clone to first token: sets up, builds, fetches a small model and chats with it. `npm run demo`.
import { withLock } from "./lib/lock.mjs";
import { demoModel } from "./lib/models.mjs";
import { inRoot } from "./lib/paths.mjs";
import { main, runAttached } from "./lib/process.mjs";
import { build, fetchModels } from "./lib/tasks.mjs";

const QUESTION = "What is the capital of France?";

await main(async () => {
  await withLock(async () => {
    await build();
    await fetchModels(["smollm2"]);
  });
  const chat = [inRoot("dist", "cli", "index.js"), "chat", "--model", demoModel];
  const interactive = process.stdin.isTTY && process.stdout.isTTY;
  if (!interactive) {
    process.stderr.write(`\nNo terminal, so the demo asks a question of its own.\n\n> ${QUESTION}\n`);
    chat.push("--prompt", QUESTION, "--max-new-tokens", "64", "--temperature", "0");
  }
  return runAttached(process.execPath, chat);
});
