// Pergola's converter and ImagePipeline behind the protocol of serve.mjs; needs `npm run build`.
import { convertModel, ImagePipeline } from "../../dist/index.js";
import { randomNumbers } from "../lib/random.mjs";
import { serve } from "./serve.mjs";

const WORDS = ["red", "bicycle", "house", "river", "morning", "light", "garden", "window", "old", "stone"];
/** Makes each prompt begin in another way, so that nothing of it is found in a cache. */
let made = 0;

/** @type {ImagePipeline} */
let pipeline;

async function convert({ checkpoint, out, weights }) {
  const started = performance.now();
  const { bytes } = await convertModel(checkpoint, out, { weights, overwrite: true });
  return { convertMs: performance.now() - started, bytes };
}

async function open({ model, options }) {
  const started = performance.now();
  pipeline = await ImagePipeline.load(model, options);
  return { loadMs: performance.now() - started, info: pipeline.info };
}

/** A prompt of about so many tokens. */
async function promptOf(tokens) {
  let prompt = `${made++}`;
  for (let index = 0; ; index++) {
    const longer = `${prompt} ${WORDS[index % WORDS.length]}`;
    if ((await pipeline.explain({ prompt: longer })).prompt.tokens > tokens) return prompt;
    prompt = longer;
  }
}

/**
 * Begins pictures of a prompt that no cache knows, and ends them after so many steps: time from the call to the first token of
 * each, and the mean time of a step. The first step is not counted.
 */
async function begin({ n, promptTokens, steps }) {
  const prompt = await promptOf(promptTokens);
  const started = performance.now();
  const stream = pipeline.stream(prompt, { n, seed: 1 });
  const times = [];
  for await (const { token } of stream) {
    times[token] = performance.now();
    if (token < steps + 2) continue;
    await stream.cancel();
    break;
  }
  return { firstMs: times[1] - started, stepMs: (times[steps + 2] - times[2]) / steps };
}

/** A whole picture, as a user waits for it. */
async function picture({ promptTokens }) {
  const prompt = await promptOf(promptTokens);
  const started = performance.now();
  const { metrics } = await pipeline.generate(prompt, { seed: 1 });
  return { totalMs: performance.now() - started, metrics };
}

/** Tokens of a picture to pixels. */
async function decode() {
  const { imageTokens, codebookSize } = pipeline.info;
  const random = randomNumbers(made++);
  const tokens = Array.from({ length: imageTokens }, () => Math.floor(random() * codebookSize));
  const started = performance.now();
  await pipeline.tokensToImage(tokens);
  return { totalMs: performance.now() - started };
}

await serve({
  convert,
  open,
  begin,
  picture,
  decode,
  // In kilobytes on Linux.
  memory: () => ({ rssBytes: process.memoryUsage.rss(), peakRssBytes: process.resourceUsage().maxRSS * 1024 }),
});
