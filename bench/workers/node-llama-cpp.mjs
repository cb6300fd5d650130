// node-llama-cpp behind the protocol of serve.mjs; the package lives in the folder that bench/setup.mjs made.
import { availableParallelism } from "node:os";
import { pathToFileURL } from "node:url";
import { llamaEntry } from "../lib/peers.mjs";
import { serve } from "./serve.mjs";

const { getLlama } = await import(pathToFileURL(llamaEntry()).href);
const threads = availableParallelism();
let llama;
let model;

async function open({ model: modelPath }) {
  const started = performance.now();
  llama = await getLlama({ gpu: false, build: "never" });
  model = await llama.loadModel({ modelPath });
  return { loadMs: performance.now() - started };
}

/** Contexts are made and freed outside the measured time. */
async function withContext(sequences, contextSize, work) {
  const context = await model.createContext({ contextSize, sequences, threads });
  try {
    return await work(Array.from({ length: sequences }, () => context.getSequence()));
  } finally {
    await context.dispose();
  }
}

async function evaluate(sequence, prompt, tokens) {
  const ids = [];
  let first = 0;
  for await (const id of sequence.evaluate([...prompt.ids], { temperature: 0, yieldEogToken: true })) {
    first ||= performance.now();
    ids.push(id);
    if (ids.length >= tokens) break;
  }
  return { ids, first };
}

function generate({ prompt, tokens }) {
  return withContext(1, prompt.ids.length + tokens + 64, async ([sequence]) => {
    const started = performance.now();
    const { ids, first } = await evaluate(sequence, prompt, tokens);
    return { ids, ttftMs: first - started, totalMs: performance.now() - started };
  });
}

function batch({ prompts, tokens }) {
  const longest = Math.max(...prompts.map(({ ids }) => ids.length));
  return withContext(prompts.length, longest + tokens + 64, async (sequences) => {
    const started = performance.now();
    const results = await Promise.all(sequences.map((sequence, index) => evaluate(sequence, prompts[index], tokens)));
    const totalMs = performance.now() - started;
    return { tokens: results.reduce((sum, { ids }) => sum + ids.length, 0), totalMs };
  });
}

await serve({
  open,
  generate,
  batch,
  memory: () => ({ peakRssBytes: process.resourceUsage().maxRSS * 1024 }),
});
