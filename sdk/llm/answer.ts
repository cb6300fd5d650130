import type { CallSite } from "../core/call-site.js";
import type { MergedGeneration } from "../core/generation-options.js";
import { Job, type JobOutcome, type TokenLogprobs } from "../core/job.js";
import { MetricsClock } from "../core/metrics.js";
import type { NativeRequest } from "../core/native-types.js";
import type { EndKind, StreamControl } from "../core/stream.js";
import { AnswerText } from "./answer-text.js";
import type { LoadedModel } from "./llm-model.js";
import type { FinishReason, LLMChunk, LLMResult } from "./llm-result.js";
import { encodePrompt, type CheckedPrompt } from "./prompt.js";
import { planRequest } from "./request.js";

/** One checked question to a model. */
export interface Question {
  prompt: CheckedPrompt;
  generation: MergedGeneration;
  callSite: CallSite;
  /** Nobody reads the chunks; only the result counts. */
  resultOnly?: boolean;
}

/**
 * Answers one question: encodes the prompt, runs the native request, turns its tokens into text. Settles only when native work
 * has ended. What was asked of `control` (stop, cancel, abort) is followed between tokens.
 */
export async function answer(
  model: LoadedModel,
  question: Question,
  control: StreamControl<LLMChunk>,
): Promise<LLMResult> {
  const { generation } = question;
  const clock = new MetricsClock(model.loadMs);
  const prompt = await clock.measureAsync("tokenize", () => encodePrompt(model, question.prompt));
  const { request, seed } = planRequest(model, prompt.ids, generation);
  const text = new AnswerText(model.tokenizer, generation.values, {
    continuation: question.prompt.kind === "raw",
    clock,
    push: (chunk) => question.resultOnly || control.push(chunk),
  });
  let outcome: JobOutcome | undefined;
  if (request.maxNewTokens > 0 && !control.ending) {
    clock.submitted();
    outcome = await run(model, request, question, text, control);
  }
  text.finish();
  return {
    text: text.text,
    tokens: text.tokens,
    finishReason: finishReason(outcome, text.stopped, control.ending),
    usage: {
      promptTokens: prompt.ids.length,
      cachedPromptTokens: outcome?.cachedTokens ?? 0,
      completionTokens: text.tokens.length,
    },
    seed,
    metrics: clock.finish(text.tokens.length, outcome?.timings),
    ...(generation.values.logprobs ? { logprobs: text.logprobs } : {}),
  };
}

async function run(
  model: LoadedModel,
  request: NativeRequest,
  { callSite }: Question,
  text: AnswerText,
  control: StreamControl<LLMChunk>,
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
