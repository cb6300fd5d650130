import type { CallSite } from "../core/call-site.js";
import type { FinishReason } from "../core/finish-reason.js";
import {
  mergeGeneration,
  randomSeed,
  type GenerationLayer,
  type MergedGeneration,
} from "../core/generation-options.js";
import { Job, type JobOutcome, type TokenLogprobs } from "../core/job.js";
import type { Lifecycle } from "../core/lifecycle.js";
import { MetricsClock } from "../core/metrics.js";
import type { NativeRequest } from "../core/native-types.js";
import type { EndKind, PipelineStream, StreamControl, StreamOptions } from "../core/stream.js";
import { AnswerText } from "./answer-text.js";
import type { CheckedPrompt } from "./prompt.js";
import { planRequest } from "./request.js";
import type { PromptWork, TextModel } from "./text-model.js";
import type { TextChunk, TextResult } from "./text-result.js";

/** One checked question to a model. */
export interface Question<Part> {
  prompt: CheckedPrompt<Part>;
  generation: MergedGeneration;
  callSite: CallSite;
  /** Nobody reads the chunks; only the result counts. */
  resultOnly?: boolean;
}

/** A question before its options are merged. */
export interface Call<Part> extends Omit<Question<Part>, "generation"> {
  /** Strongest first, without the model's own. */
  layers: readonly GenerationLayer[];
}

/**
 * Starts to answer: calls of pipelines and turns of chats begin here.
 *
 * @throws OptionError where options contradict each other
 */
export function startAnswer<Part>(
  model: TextModel<Part>,
  lifecycle: Lifecycle,
  { layers, ...call }: Call<Part>,
  options: StreamOptions<TextResult>,
): PipelineStream<TextChunk, TextResult> {
  const question = { ...call, generation: mergeGeneration([...layers, model.configLayer]) };
  return lifecycle.start<TextChunk, TextResult>((control) => answer(model, question, control), call.callSite, options);
}

/**
 * Answers one question: encodes the prompt, runs the native request, turns its tokens into text. Settles only when native work
 * has ended. What was asked of `control` (stop, cancel, abort) is followed between tokens and while pictures are prepared.
 */
async function answer<Part>(
  model: TextModel<Part>,
  question: Question<Part>,
  control: StreamControl<TextChunk>,
): Promise<TextResult> {
  const { generation, callSite } = question;
  const clock = new MetricsClock(model.loadMs);
  const ended = new AbortController();
  control.onEnding(() => ended.abort());
  const work: PromptWork = { clock, callSite, signal: ended.signal };
  const prompt = await unlessEnded(work, () => model.encode(question.prompt, work));
  const { request, seed } = prompt
    ? planRequest(model, prompt, generation)
    : { request: undefined, seed: generation.values.seed ?? randomSeed() };
  const text = new AnswerText(model.tokenizer, generation.values, {
    continuation: question.prompt.kind === "raw",
    clock,
    push: (chunk) => question.resultOnly || control.push(chunk),
  });
  let outcome: JobOutcome | undefined;
  if (request && request.maxNewTokens > 0 && !control.ending) {
    const rows = prompt?.rows && (await unlessEnded(work, () => prompt.rows!(work)));
    if (!control.ending) {
      clock.submitted();
      outcome = await run(model, rows ? { ...request, promptRows: rows } : request, question, text, control);
    }
  }
  text.finish();
  return {
    text: text.text,
    tokens: text.tokens,
    finishReason: finishReason(outcome, text.stopped, control.ending),
    usage: {
      promptTokens: prompt?.ids.length ?? 0,
      cachedPromptTokens: outcome?.cachedTokens ?? 0,
      completionTokens: text.tokens.length,
    },
    seed,
    metrics: clock.finish(text.tokens.length, outcome?.timings),
    ...(generation.values.logprobs ? { logprobs: text.logprobs } : {}),
  };
}

/** What work on a prompt gives; `undefined` if it was ended before it was done. */
async function unlessEnded<Value>({ signal }: PromptWork, start: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await start();
  } catch (error) {
    if (signal.aborted && error === signal.reason) return undefined;
    throw error;
  }
}

async function run<Part>(
  model: TextModel<Part>,
  request: NativeRequest,
  { callSite }: Question<Part>,
  text: AnswerText,
  control: StreamControl<TextChunk>,
): Promise<JobOutcome> {
  const job: Job = new Job({
    generator: model.generator,
    events: model.events,
    request,
    callSite,
    onTokens: (ids: number[], logprobs: TokenLogprobs[] | undefined) => {
      text.push(ids, logprobs);
      if (text.stopped) job.stop();
    },
  });
  control.onEnding(() => job.stop());
  return job.ended;
}

function finishReason(outcome: JobOutcome | undefined, stopString: boolean, ending: EndKind | undefined): FinishReason {
  if (ending === "cancel") return "cancelled";
  if (stopString) return "stop";
  if (outcome && outcome.reason !== "stopped") return outcome.reason;
  // Nothing ran, because no token was asked for; or the caller ended it.
  return ending ? "stop" : "length";
}
