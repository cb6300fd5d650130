import { openContestant } from "../lib/contestants.mjs";
import { megabytes } from "../lib/rows.mjs";
import { slope } from "../lib/statistics.mjs";

const MEGABYTE = 1e6;
const ALLOWED_OVERHEAD = 300 * MEGABYTE;
/** A KV cache that is soon full, so that what grows afterwards is not the cache. */
const KV_TOKENS = 1024;
/** The allocator settles; what is lost at every request shows all the same. */
const FLAT = 10 * MEGABYTE;

/** Some of everything: short and long prompts, and several at once. */
async function work(child, prompts) {
  await child.ask({ command: "generate", prompt: prompts.next(42), tokens: 16 });
  await child.ask({ command: "generate", prompt: prompts.next(1000), tokens: 16 });
  await child.ask({ command: "batch", prompts: prompts.several(8, 42), tokens: 16 });
}

/** Peak of a fresh process, against weights, KV cache and an allowance. */
async function peakRow(id, title, { prompts, summary }, target) {
  // The first process may have to compile; the measured one finds the compiled model.
  const first = await openContestant(id);
  await first.child.close();
  const { child, opened } = await openContestant(id);
  await work(child, prompts);
  const { peakRssBytes, kvBytes } = await child.ask({ command: "memory" });
  await child.close();
  summary(id).peakRssBytes = peakRssBytes;
  const base = (opened.weightBytes ?? 0) + (kvBytes ?? 0);
  return {
    group: "Memory",
    title,
    ours: megabytes(peakRssBytes),
    ...(opened.weightBytes
      ? {
          theirs: `${megabytes(opened.weightBytes)} weights + ${megabytes(kvBytes)} KV + ${megabytes(ALLOWED_OVERHEAD)}`,
        }
      : {}),
    value: (peakRssBytes - base) / MEGABYTE,
    unit: "MB",
    ...(target ? { target: { atMost: ALLOWED_OVERHEAD / MEGABYTE } } : {}),
  };
}

/** Resident memory over many requests: the slope of the second half, times all requests. */
async function growthRow({ prompts, requests, say }) {
  const { child } = await openContestant("gguf:pergola", { options: { kvCache: { tokens: KV_TOKENS } } });
  const points = [];
  const every = Math.max(1, Math.floor(requests / 50));
  for (let count = 1; count <= requests; count++) {
    await child.ask({ command: "generate", prompt: prompts.next(24 + (count % 40)), tokens: 4 + (count % 9) });
    if (count % every > 0) continue;
    say(`request ${count} of ${requests}`);
    points.push([count, (await child.ask({ command: "memory" })).rssBytes]);
  }
  await child.close();
  // Before that, kernels are still made for prompt lengths that did not occur yet.
  const settled = points.slice(points.length >> 1);
  const perRequest = slope(settled);
  return {
    points,
    row: {
      group: "Memory",
      title: `Growth over ${requests} requests`,
      ours: `${(perRequest / 1000).toFixed(1)} kB a request`,
      value: (perRequest * requests) / MEGABYTE,
      unit: "MB",
      target: { atMost: FLAT / MEGABYTE },
    },
  };
}

export async function memoryRows(context) {
  const { say, formats } = context;
  const rows = [];
  const peak = async (...values) => {
    say(values[0]);
    rows.push(await peakRow(values[0], values[1], context, values[2]));
  };
  await peak("gguf:pergola", "Peak RSS beyond weights and KV cache, GGUF file", true);
  await peak("gguf:pergola-int8", "The same, weights int8 (file's weights counted)", false);
  if (formats.includes("ir")) await peak("ir:pergola", "The same, IR folder", true);
  await peak("gguf:genai", "openvino_genai: peak RSS", false);
  await peak("gguf:node-llama-cpp", "node-llama-cpp: peak RSS", false);
  const { points, row } = await growthRow(context);
  rows.push(row);
  return { samples: { growth: points }, rows };
}
