import { ContextLengthError, OptionError } from "../core/errors.js";
import { randomSeed, type GenerationSettings, type MergedGeneration } from "../core/generation-options.js";
import type { NativeGeneratorInfo, NativeRequest } from "../core/native-types.js";
import type { EncodedPrompt, TextModelParts } from "./text-model.js";

/** A native request, and what is decided with it. */
export interface PlannedRequest {
  request: NativeRequest;
  seed: number;
}

/**
 * Turns settings into a native request, and checks what depends on the model: token ids, context and KV cache.
 *
 * @returns `maxNewTokens` 0 in the request means that nothing is to be run
 * @throws OptionError for an empty prompt or token ids outside the vocabulary
 * @throws ContextLengthError if the prompt, or the prompt with an explicit `maxNewTokens`, cannot fit
 */
export function planRequest(
  model: Pick<TextModelParts, "facts" | "stopTokenIds"> & { generator: { info: NativeGeneratorInfo } },
  { ids: promptIds, imageTokens = 0, positions }: Pick<EncodedPrompt, "ids" | "imageTokens" | "positions">,
  { values, sources }: MergedGeneration,
): PlannedRequest {
  const { info } = model.generator;
  if (promptIds.length === 0) {
    throw new OptionError("prompt must have at least one token, received an empty text.", {
      path: "prompt",
      expected: "a text of at least one token",
      received: "",
    });
  }
  checkTokenIds(values, info.vocabSize);
  const room = roomFor(promptIds.length, imageTokens, info);
  const explicit = sources.maxNewTokens === "call" || sources.maxNewTokens === "chat";
  if (explicit) checkCapacity(promptIds.length, values.maxNewTokens ?? 0, info, model.facts.contextLength);
  const seed = values.seed ?? randomSeed();
  const eos = values.ignoreEos ? [] : model.stopTokenIds;
  return {
    seed,
    request: {
      promptIds: Int32Array.from(promptIds),
      ...(positions ? { positions } : {}),
      maxNewTokens: Math.min(values.maxNewTokens ?? room, room),
      minNewTokens: Math.min(values.minNewTokens, room),
      stopTokenIds: [...new Set([...eos, ...values.stopTokenIds])],
      sampling: samplingOf(values, seed),
    },
  };
}

function samplingOf(values: GenerationSettings, seed: number): NativeRequest["sampling"] {
  return {
    temperature: values.temperature,
    topK: values.topK,
    topP: values.topP,
    minP: values.minP,
    repetitionPenalty: values.repetitionPenalty,
    presencePenalty: values.presencePenalty,
    frequencyPenalty: values.frequencyPenalty,
    logitBias: Object.entries(values.logitBias).map(([token, bias]): [number, number] => [Number(token), bias]),
    seed,
    logprobs: values.logprobs ? values.topLogprobs : -1,
  };
}

/** Tokens that an answer may have; at least one. */
function roomFor(promptTokens: number, imageTokens: number, info: NativeGeneratorInfo): number {
  const limit = info.maxRequestTokens - 1;
  if (promptTokens > limit) {
    const pictures = imageTokens > 0 ? `, ${imageTokens} of them for pictures` : "";
    const fewer = imageTokens > 0 ? ", give fewer pictures" : "";
    throw new ContextLengthError(
      `The prompt has ${promptTokens} tokens${pictures}; at most ${limit} fit, with room for one token of the answer ` +
        `(${limitReason(info)}). Shorten the prompt${fewer}${info.maxRequestTokens >= info.kvCapacityTokens ? ", or load with a larger kvCache" : ""}.`,
      { limit, requested: promptTokens },
    );
  }
  return info.maxRequestTokens - promptTokens;
}

/** A request that asks for more than the KV cache can ever hold would end early for a reason its model does not have. */
function checkCapacity(
  promptTokens: number,
  maxNewTokens: number,
  info: NativeGeneratorInfo,
  contextLength: number,
): void {
  const limit = info.kvCapacityTokens;
  const requested = promptTokens + maxNewTokens;
  if (requested <= limit || (contextLength > 0 && limit >= contextLength)) return;
  throw new ContextLengthError(
    `The request needs up to ${requested} tokens (prompt ${promptTokens}, maxNewTokens ${maxNewTokens}), but the KV cache ` +
      `holds ${limit}. Lower maxNewTokens, or load with a larger kvCache.`,
    { limit, requested },
  );
}

function limitReason(info: NativeGeneratorInfo): string {
  return info.maxRequestTokens >= info.kvCapacityTokens
    ? `the KV cache holds ${info.kvCapacityTokens}`
    : `the model's context is ${info.maxRequestTokens}`;
}

function checkTokenIds(values: GenerationSettings, vocabSize: number): void {
  const check = (path: string, token: number): void => {
    if (token < vocabSize) return;
    const expected = `a token id below ${vocabSize}, the size of the model's vocabulary`;
    throw new OptionError(`${path} must be ${expected}, received ${token}.`, { path, expected, received: token });
  };
  values.stopTokenIds.forEach((token, index) => check(`stopTokenIds[${index}]`, token));
  for (const token of Object.keys(values.logitBias)) check(`logitBias.${token}`, Number(token));
}
