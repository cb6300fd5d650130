// Pergola's VLMPipeline behind the protocol of serve.mjs; needs `npm run build`.
import { readFileSync } from "node:fs";
import { VLMPipeline } from "../../dist/index.js";
import { serve } from "./serve.mjs";

/** @type {VLMPipeline} */
let vlm;

async function open({ model, options }) {
  const started = performance.now();
  vlm = await VLMPipeline.load(model, options);
  return { loadMs: performance.now() - started };
}

/** A question about a picture, read through `stream()` as an app does. The picture's pixels are in memory before time counts. */
async function ask({ picture: { file, width, height }, question, tokens }) {
  const image = { data: new Uint8Array(readFileSync(file)), width, height, channels: 3 };
  const content = [
    { type: "image", image },
    { type: "text", text: question },
  ];
  const started = performance.now();
  const stream = vlm.stream([{ role: "user", content }], { maxNewTokens: tokens, temperature: 0, ignoreEos: true });
  for await (const chunk of stream) void chunk;
  const { text, metrics, usage } = await stream.result;
  const totalMs = performance.now() - started;
  const { preprocess, encode } = metrics.stages;
  return {
    text,
    ttftMs: metrics.ttftMs,
    totalMs,
    tokens: usage.completionTokens,
    promptTokens: usage.promptTokens,
    preprocessMs: preprocess,
    encodeMs: encode,
  };
}

await serve({
  open,
  ask,
  // In kilobytes on Linux.
  memory: () => ({ peakRssBytes: process.resourceUsage().maxRSS * 1024 }),
});
