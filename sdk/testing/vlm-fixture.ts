import { setNativeForTesting } from "../core/native.js";
import type { NativeRequest } from "../core/native-types.js";
import { RgbImage } from "../media/rgb-image.js";
import { Tokenizer } from "../text/tokenizer.js";
import type { VLMLoadOptions } from "../vlm/vlm-options.js";
import { VLMPipeline } from "../vlm/vlm-pipeline.js";
import type { FakeGraph, FakeGraphScript } from "./fake-graph.js";
import { useFakes } from "./fake-harness.js";
import { FakeNative, type FakeAnswer, type FakeNativeOptions } from "./fake-native.js";
import { visionFixture } from "./vlm-fixtures.js";

/** Folder of a tiny LLaVA 1.5: its files and tokenizer are used, its weights are not. */
export const TINY_VLM = visionFixture("vlm/llava-tiny-ir");
/** Rows of a picture, and the length of each in the scripted addon. */
export const TINY_ROWS = { count: 16, hidden: 8 } as const;

const ENCODER = "openvino_vision_embeddings_model";

/** A vision pipeline over a scripted addon. */
export interface FakeVLM {
  vlm: VLMPipeline;
  native: FakeNative;
  tokenizer: Tokenizer;
  encoder: FakeGraph;
  /** Requests that reached the engine. */
  requests: readonly NativeRequest[];
  /** Texts of their prompts, control tokens included, each run of image tokens as one. */
  prompts(): string[];
}

/** What the scripted model says to a prompt. */
export type VisionScript = (prompt: string, request: NativeRequest) => string | FakeAnswer;

/** A row for each patch: the mean of all pixel values, then the number of the row. */
export const meanRows: FakeGraphScript = ([pixels]) => {
  const values = pixels!.data as Float32Array;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const { count, hidden } = TINY_ROWS;
  const data = Float32Array.from({ length: count * hidden }, (_, index) =>
    index % hidden === 0 ? mean : Math.floor(index / hidden),
  );
  return [{ shape: [1, count, hidden], data }];
};

/** Loads the tiny model over a scripted addon. */
export async function loadFakeVLM(
  script: VisionScript = () => "seen",
  options: VLMLoadOptions = {},
  native: Omit<FakeNativeOptions, "answers"> = {},
  folder = TINY_VLM,
): Promise<FakeVLM> {
  const tokenizer = await Tokenizer.fromFolder(folder);
  const textOf = ({ promptIds, promptRows = [] }: NativeRequest): string => {
    const inside = new Set(
      promptRows.flatMap(({ start, count }) => Array.from({ length: count - 1 }, (_, i) => start + 1 + i)),
    );
    const ids = promptIds.filter((_, index) => !inside.has(index));
    // SentencePiece puts a space in front of what follows a control token.
    return tokenizer.decode(ids, { skipSpecialTokens: false }).replaceAll("<image> ", "<image>");
  };
  const fake = new FakeNative({
    ...native,
    graphs: { [ENCODER]: meanRows, ...native.graphs },
    answers: (request) => {
      const answer = script(textOf(request), request);
      if (typeof answer !== "string") return answer;
      return { ids: tokenizer.encode(answer, { addSpecialTokens: false, allowControlTokens: false }) };
    },
  });
  setNativeForTesting(fake);
  const vlm = await VLMPipeline.load(folder, { cache: false, ...options });
  const { requests } = fake.generator;
  return { vlm, native: fake, tokenizer, encoder: fake.graph(ENCODER), requests, prompts: () => requests.map(textOf) };
}

/** For a test file about vision pipelines; see {@link useFakes}. */
export function useFakeVLMs(): typeof loadFakeVLM {
  return useFakes(loadFakeVLM, ({ vlm }) => vlm.dispose());
}

/** A picture of one grey. */
export function grey(level: number, side = 56): RgbImage {
  return new RgbImage(side, side, new Uint8Array(side * side * 3).fill(level));
}

/** First values of the rows of each picture of a request: what tells pictures apart. */
export function meansOf({ promptRows = [] }: NativeRequest): number[] {
  return promptRows.map(({ rows }) => rows[0]!);
}

/** The mean that {@link meanRows} sees of a {@link grey} picture, as the tiny model normalises it. */
export function meanOf(level: number): number {
  const [mean, std] = [
    [0.48145466, 0.4578275, 0.40821073],
    [0.26862954, 0.26130258, 0.27577711],
  ] as const;
  return mean.reduce((sum, value, channel) => sum + (level / 255 - value) / std[channel]!, 0) / 3;
}
