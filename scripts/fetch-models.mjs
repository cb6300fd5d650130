// Fetches the small models that demo and tests use into models/: `node scripts/fetch-models.mjs [NAME ...]`.
import { withLock } from "./lib/lock.mjs";
import { MODELS } from "./lib/models.mjs";
import { main, SetupError } from "./lib/process.mjs";
import { fetchModels } from "./lib/tasks.mjs";

await main(() => {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !Object.hasOwn(MODELS, name));
  if (unknown) throw new SetupError(`There is no model "${unknown}". Known: ${Object.keys(MODELS).join(", ")}.`);
  return withLock(() => fetchModels(names.length > 0 ? names : undefined));
});
