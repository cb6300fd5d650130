import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { VLMMessage } from "../vlm/vlm-messages.js";
import { janusFixture, janusGoldens } from "./janus-fixture.js";

const FIXTURES = new URL("../../test/fixtures/", import.meta.url);

/** Path of a file or folder of the fixtures for vision models, for example `vlm/llava-tiny-ir`. */
export function visionFixture(name: string): string {
  return fileURLToPath(new URL(name, FIXTURES));
}

/** Content of a JSON fixture. */
export function visionJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, FIXTURES), "utf8"));
}

/** What transformers answered (f32, greedy, end-of-sequence ignored). */
export interface LlavaCase {
  /** Names of files in `vlm/images`, in order. */
  images: string[];
  /** Image parts are without their pictures. */
  messages: VLMMessage[];
  prompt: string;
  n_ids: number;
  /** Runs of the image token are pairs `[id, count]`. */
  input_ids: (number | [id: number, count: number])[];
  n_image_tokens: number;
  logits64: number[];
  greedy: number[];
  /** Steps before the first one at which the two best logits are closer than 0.02. */
  stable_prefix: number;
}

export function llavaCases(): [name: string, golden: LlavaCase][] {
  const { cases } = visionJson("vlm/llava-golden.json") as { cases: Record<string, LlavaCase> };
  return Object.entries(cases);
}

/** Ids with all repetitions. */
export function expandedIds(ids: LlavaCase["input_ids"]): number[] {
  return ids.flatMap((entry) => (typeof entry === "number" ? entry : Array<number>(entry[1]).fill(entry[0])));
}

/** The messages with pictures in the places of image parts, in order. As references do, alpha is dropped. */
export function withPictures(messages: readonly VLMMessage[], pictures: readonly string[]): VLMMessage[] {
  let next = 0;
  return messages.map((message) => {
    if (typeof message.content === "string" || !message.content) return message;
    const content = message.content.map((part) =>
      part.type === "image" ? { ...part, image: pictures[next++]!, alpha: "drop" as const } : part,
    );
    return { ...message, content };
  });
}

/** Questions about a picture of shapes, with the answers. */
export interface ShapesItem {
  image: string;
  truth: string;
  answers: Record<string, { n_ids: number; output_ids: number[]; text: string }>;
}

export function shapesItems(): ShapesItem[] {
  return (visionJson("vlm/llava_shapes-golden.json") as { items: ShapesItem[] }).items;
}

/** What transformers answered with the tiny Janus model (f32, greedy). */
export interface JanusRun {
  name: string;
  pictures: string[];
  /** Image parts are without their pictures. */
  messages: VLMMessage[];
  /** What the chat template prints. */
  template_text: string;
  /** What the processor makes of it, BOS included. */
  full_text: string;
  input_ids: number[];
  greedy_16: number[];
}

const JANUS_RUNS = ["vqa_a", "vqa_b", "vqa_two", "multi_turn", "text_only"] as const;

/** Runs of the tiny Janus model with the pictures of each, and what its chat template prints for messages. */
export function janusCases() {
  const goldens = janusGoldens() as Record<string, unknown> & {
    images: Record<string, { file: string }>;
    template_cases: { messages: VLMMessage[]; add_generation_prompt: boolean; text: string }[];
  };
  const picture = (name: string): string => janusFixture(`goldens/${goldens.images[name]!.file}`);
  const pictures: Record<string, string[]> = {
    vqa_a: [picture("a")],
    vqa_b: [picture("b")],
    vqa_two: [picture("a"), picture("b")],
    multi_turn: [picture("a")],
  };
  return {
    runs: JANUS_RUNS.map((name) => ({
      ...(goldens[name] as Omit<JanusRun, "name" | "pictures">),
      name,
      pictures: pictures[name] ?? [],
    })),
    templateCases: goldens.template_cases,
  };
}
