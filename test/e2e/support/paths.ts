import { existsSync } from "node:fs";
import path from "node:path";

/** Root of the clone. */
export const root = path.resolve(import.meta.dirname, "../../..");

export const command = path.join(root, "dist", "cli", "index.js");
export const addon = path.join(root, "native", "bin", "pergola.node");
export const model = path.join(root, "models", "smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf");
/** A decoder of a few hundred kilobytes with random weights; loads in a moment. */
export const tinyModel = path.join(root, "test", "fixtures", "llm", "llama-tiny-ir");

for (const [file, remedy] of [
  [command, "npm run build"],
  [addon, "npm run build"],
  [model, "node scripts/fetch-models.mjs"],
] as const) {
  if (!existsSync(file)) throw new Error(`${path.relative(root, file)} is missing; \`${remedy}\` makes it.`);
}
