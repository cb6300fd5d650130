// Pergola behind the protocol of serve.mjs; needs `npm run build`.
import { monitorEventLoopDelay } from "node:perf_hooks";
import { inspectModel, LLMPipeline } from "../../dist/index.js";
import { serve } from "./serve.mjs";

/** The event loop is looked at this often, in ms. */
const RESOLUTION = 1;

/** @type {LLMPipeline} */
let llm;

const optionsFor = (tokens) => ({ applyChatTemplate: false, temperature: 0, ignoreEos: true, maxNewTokens: tokens });

async function open({ model, options }) {
  const started = performance.now();
  llm = await LLMPipeline.load(model, options);
  const loadMs = performance.now() - started;
  return { loadMs, info: llm.info, weightBytes: (await inspectModel(model)).weightBytes };
}

/** One request, read through `stream()` as an app does; `totalMs` ends when the last chunk and the result are there. */
async function generate({ prompt, tokens, allowCached = false }) {
  const started = performance.now();
  const stream = llm.stream(prompt.text, optionsFor(tokens));
  let characters = 0;
  for await (const chunk of stream) characters += chunk.text.length;
  const { tokens: ids, metrics, usage } = await stream.result;
  const totalMs = performance.now() - started;
  checkPrompt(usage, prompt, allowCached);
  const engineMs = metrics.stages.prefill + metrics.stages.decode;
  return { ids, ttftMs: metrics.ttftMs, totalMs, engineMs, characters };
}

async function batch({ prompts, tokens }) {
  const started = performance.now();
  const results = await Promise.all(
    prompts.map(async (prompt) => {
      const stream = llm.stream(prompt.text, optionsFor(tokens));
      for await (const chunk of stream) void chunk;
      return stream.result;
    }),
  );
  const totalMs = performance.now() - started;
  results.forEach(({ usage }, index) => checkPrompt(usage, prompts[index]));
  return { tokens: results.reduce((sum, result) => sum + result.tokens.length, 0), totalMs };
}

/** `batch` while the event loop is watched; delays are what a timer comes late, in ms. */
async function watchLoop(request) {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
  histogram.enable();
  await batch(request);
  histogram.disable();
  const late = (nanoseconds) => Math.max(0, nanoseconds / 1e6 - RESOLUTION);
  return { p50Ms: late(histogram.percentile(50)), p99Ms: late(histogram.percentile(99)), maxMs: late(histogram.max) };
}

/** The other engines are handed ids; the same text must be the same ids here, all of them computed, none found again. */
function checkPrompt(usage, { ids }, allowCached = false) {
  if (usage.promptTokens !== ids.length) throw new Error(`${usage.promptTokens} prompt tokens, expected ${ids.length}`);
  if (usage.cachedPromptTokens > 0 && !allowCached)
    throw new Error(`${usage.cachedPromptTokens} prompt tokens came from the cache`);
}

function memory() {
  globalThis.gc?.();
  return {
    rssBytes: process.memoryUsage.rss(),
    // In kilobytes on Linux.
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
    kvBytes: llm.stats().kvBytes,
  };
}

await serve({
  open,
  generate,
  batch,
  watchLoop,
  memory,
  encode: ({ text }) => llm.tokenizer.encode(text, { allowControlTokens: true }),
});
