import { join } from "node:path";
import { ModelError } from "../../../../core/errors.js";
import { readJsonObject } from "../../../files/json-file.js";
import type { Architecture, Checkpoint, ConversionFacts, PreparedConversion } from "../common/architecture.js";
import { llamaDecoder } from "./llama-decoder.js";
import { LLAMA_TYPES, readLlamaShape, type LlamaShape } from "./llama-shape.js";
import { existing, requireFiles } from "../../read/checkpoint-files.js";
import { findSafetensors, SafetensorsSource } from "../../read/safetensors.js";
import type { WeightPlan } from "../../ir/weights.js";

/** Taken over as they are where the checkpoint has them: tokenizer, chat template, and what sampling should be like. */
const KEPT = [
  ...["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"],
  ...["added_tokens.json", "vocab.json", "merges.txt", "tokenizer.model", "chat_template.jinja", "chat_template.json"],
];

/** Language models of the Llama family, from Hugging Face folders with safetensors. */
export const LANGUAGE_MODEL: Architecture = {
  name: "language-model",
  modelTypes: LLAMA_TYPES,
  formats: ["f16", "int8", "int4"],
  files: async ({ folder }) => [...(await findSafetensors(folder)).paths, ...(await existing(folder, KEPT))],
  prepare: prepareLanguageModel,
};

async function prepareLanguageModel({ folder }: Checkpoint, plan: WeightPlan): Promise<PreparedConversion> {
  await requireFiles(folder, ["config.json", "tokenizer.json"], "Fetch them from the same repository");
  const file = join(folder, "config.json");
  const config = (await readJsonObject(file)) ?? {};
  const shape = readLlamaShape(config, file);
  await checkTokenizer(folder, shape);
  const source = await SafetensorsSource.open(folder);
  try {
    const graph = llamaDecoder(source, shape, { input: "ids", output: "logits", weights: plan });
    const copies = new Map((await existing(folder, KEPT)).map((path) => [path.slice(folder.length + 1), path]));
    return {
      ...{ architecture: String(config["model_type"]), plan, source, copies },
      graphs: new Map([["openvino_model", graph]]),
      json: new Map(),
      facts: factsOf(shape, config),
    };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** A tokenizer with more tokens than the embedding has rows belongs to another model. (Fewer are common: rows are padded.) */
async function checkTokenizer(folder: string, { vocabularySize }: LlamaShape): Promise<void> {
  const file = join(folder, "tokenizer.json");
  const tokenizer = (await readJsonObject(file)) ?? {};
  const added = Array.isArray(tokenizer["added_tokens"]) ? (tokenizer["added_tokens"] as { id?: unknown }[]) : [];
  const vocabulary = (tokenizer["model"] as { vocab?: unknown } | undefined)?.vocab;
  const ids =
    typeof vocabulary === "object" && vocabulary !== null && !Array.isArray(vocabulary)
      ? (Object.values(vocabulary) as unknown[])
      : [];
  let largest = Array.isArray(vocabulary) ? vocabulary.length - 1 : -1;
  for (const id of [...ids, ...added.map((token) => token.id)])
    if (typeof id === "number" && id > largest) largest = id;
  if (largest < vocabularySize) return;
  throw new ModelError(
    `${file} has tokens up to number ${largest}, but by config.json the model knows ${vocabularySize} only. ` +
      "The files do not belong together: fetch both from the same repository.",
    { file },
  );
}

/** What the files of the conversion do not tell by themselves. */
function factsOf(
  { contextLength, windows, attentionCap }: LlamaShape,
  config: Record<string, unknown>,
): ConversionFacts {
  const notes: string[] = [];
  const told = config["max_position_embeddings"];
  if (typeof told === "number" && told > contextLength) {
    notes.push(
      `the rotary embedding of this model holds for ${contextLength} tokens; more (config.json says ${told}) are not offered`,
    );
  }
  const window = windows.find((size) => size !== undefined);
  const statefulReason =
    attentionCap !== undefined
      ? "the model limits attention scores, which paged attention cannot"
      : window === undefined
        ? ""
        : `layers see ${window} tokens back only, which paged attention cannot`;
  return { contextLength, statefulReason, notes };
}
