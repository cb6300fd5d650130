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

/** Begins pictures and ends them after so many steps; gives the time of each token (of several pictures: the mean). */
async function tokenTimes(prompt, n, steps) {
  const stream = pipeline.stream(prompt, { n, seed: 1 });
  const times = [performance.now()];
  for await (const step of stream) {
    times[step.token] = performance.now();
    if (step.token > steps) {
      await stream.cancel();
      break;
    }
  }
  return times;
}

/** Time from the call to the first token of each picture, of a prompt that no cache knows. */
async function begin({ n, promptTokens, steps: count = 0 }) {
  const times = await tokenTimes(await promptOf(promptTokens), n, count);
  return { firstMs: times[1] - times[0] };
}

let longPrompt;

/**
 * Mean time of a step behind a prompt so long that the context is as in the middle of a picture. The prompt stays the same, so
 * that it is found in the prefix cache and all pictures start together; their first step is not counted.
 */
async function steps({ n, context, steps: count }) {
  if (!longPrompt) {
    longPrompt = await promptOf(context);
    await tokenTimes(longPrompt, 1, 0);
  }
  const times = await tokenTimes(longPrompt, n, count + 1);
  return { stepMs: (times[count + 2] - times[2]) / count };
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
  steps,
  picture,
  decode,
  // In kilobytes on Linux.
  memory: () => ({ rssBytes: process.memoryUsage.rss(), peakRssBytes: process.resourceUsage().maxRSS * 1024 }),
});
