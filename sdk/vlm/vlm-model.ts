import type { MetricsClock, StageTimes } from "../core/metrics.js";
import type { CheckedPrompt } from "../generation/prompt.js";
import type { EncodedPrompt, PromptWork, TextModel, TextModelParts } from "../generation/text-model.js";
import { ChatTemplate } from "../text/chat-template.js";
import type { OpenedFamily } from "./families/family.js";
import { Pictures } from "./pictures.js";
import type { VisionEncoder } from "./vision-encoder.js";
import { expandPlaceholders, placePictures, rowsOf } from "./vision-prompt.js";
import { checkedImage, imagesOf, VLM_MESSAGES, withoutPixels, type ImagePart, type VLMPart } from "./vlm-messages.js";

/** What a vision-language model has besides a language model. */
export interface VisionParts extends TextModelParts {
  /** The model as the caller named it, for messages. */
  path: string;
  family: OpenedFamily;
  encoder: VisionEncoder;
  imageCacheBytes: number;
  loadFacts: NonNullable<TextModel["loadFacts"]>;
}

/** A language model whose prompts are texts and pictures. */
export function visionModel(parts: VisionParts): TextModel<VLMPart> {
  const pictures = new Pictures(parts.family, parts.encoder, parts.imageCacheBytes);
  return {
    ...parts,
    messages: VLM_MESSAGES,
    encode: (prompt, work) => encodePrompt(parts, pictures, prompt, work),
  };
}

async function encodePrompt(
  parts: VisionParts,
  pictures: Pictures,
  prompt: CheckedPrompt<VLMPart>,
  work: PromptWork | undefined,
): Promise<EncodedPrompt> {
  const { family, template } = parts;
  if (prompt.kind === "chat" && !template) throw ChatTemplate.missing(parts.path);
  const images =
    prompt.kind === "chat"
      ? imagesOf(prompt.messages)
      : prompt.attachments.map((part) => checkedImage(part as ImagePart, "images"));
  const seen = await measure(work?.clock, "preprocess", () => pictures.look(images, work?.signal));
  const expand = (text: string): string => expandPlaceholders(text, family, seen);
  const { text, ids, foldedSystem } = await measure(work?.clock, "tokenize", async () =>
    prompt.kind === "raw" ? encodeRaw(parts, prompt, expand) : encodeChat(parts, prompt, expand),
  );
  const placed = placePictures(withBos(parts, ids), family, seen);
  return {
    text,
    ids: placed.ids,
    foldedSystem,
    imageTokens: seen.flatMap(({ layout }) => layout.runs).reduce((sum, count) => sum + count, 0),
    positions: family.positions?.(
      placed.ids,
      placed.starts,
      seen.map(({ layout }) => layout),
    ),
    rows: seen.length === 0 ? undefined : (ready) => rowsOf(seen, placed, parts.encoder.hiddenSize, ready),
  };
}

function encodeChat(
  { family, template }: VisionParts,
  { messages, tools, templateOptions, allowControlTokens }: Extract<CheckedPrompt<VLMPart>, { kind: "chat" }>,
  expand: (text: string) => string,
) {
  const shown = withoutPixels(messages);
  const spellings = [family.placeholder, family.imageToken.text, ...(family.spellings ?? [])];
  const media = { spellings, prefix: family.prefix?.(shown), expand };
  return template!.encode(shown, { tools, templateOptions, allowControlTokens, media });
}

async function encodeRaw(
  { tokenizer }: VisionParts,
  { text, allowControlTokens }: Extract<CheckedPrompt<VLMPart>, { kind: "raw" }>,
  expand: (text: string) => string,
) {
  const ids = await tokenizer.encodeAsync(expand(text), { allowControlTokens });
  return { text, ids, foldedSystem: false };
}

function withBos({ family, tokenizer }: VisionParts, ids: readonly number[]): readonly number[] {
  const { bosId } = tokenizer;
  return family.alwaysBos && bosId !== undefined && ids[0] !== bosId ? [bosId, ...ids] : ids;
}

function measure<Value>(
  clock: MetricsClock | undefined,
  stage: keyof StageTimes,
  work: () => Promise<Value>,
): Promise<Value> {
  return clock ? clock.measureAsync(stage, work) : work();
}
