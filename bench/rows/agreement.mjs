import { contestant, possibleHere } from "../lib/contestants.mjs";
import { readGolden } from "../lib/prompts.mjs";
import { percent } from "../lib/rows.mjs";
import { mean } from "../lib/statistics.mjs";

/** Ways of computing whose answers are compared with the reference; Pergola's default has the target. */
const KINDS = {
  gguf: [
    "pergola",
    "pergola-int8",
    "pergola-bf16",
    "pergola-fast",
    "pergola-int8-bf16",
    "pergola-int8-fast",
    "genai",
    "genai-exact",
    "node-llama-cpp",
  ],
  ir: ["pergola", "pergola-bf16", "pergola-int8", "genai", "genai-exact"],
};

function commonPrefix(ours, expected) {
  let length = 0;
  while (length < expected.length && ours[length] === expected[length]) length++;
  return length;
}

async function agreement(child, golden, say) {
  const prefixes = [];
  let firsts = 0;
  for (const [index, { prompt, expected }] of golden.entries()) {
    say(`prompt ${index + 1} of ${golden.length}`);
    const request = { command: "generate", prompt, tokens: expected.length, allowCached: true };
    const length = commonPrefix((await child.ask(request)).ids, expected);
    if (length > 0) firsts++;
    prefixes.push(length / expected.length);
  }
  return { firsts, prompts: golden.length, prefix: mean(prefixes) };
}

/** Greedy answers against those of transformers in f32: first tokens that are equal, and the mean share of common prefix. */
export async function agreementRows({ contestants, golden = readGolden(), goldenCount, say, summary }, format) {
  const rows = [];
  const samples = {};
  const chosen = golden.slice(0, goldenCount);
  for (const kind of await possibleHere(KINDS[format])) {
    const id = `${format}:${kind}`;
    const { firsts, prompts, prefix } = await agreement(await contestants.get(id), chosen, (text) =>
      say(`${id}, ${text}`),
    );
    samples[id] = { firsts, prompts, prefix };
    Object.assign(summary(id), { firsts, prompts, prefix });
    const group = `Agreement with transformers f32, ${format === "gguf" ? "GGUF file" : "IR folder"}`;
    const { label } = contestant(id);
    const measured = kind === "pergola";
    rows.push({
      group,
      title: `${label}: first token equal`,
      ours: `${firsts} of ${prompts}`,
      value: firsts / prompts,
      ...(measured ? { target: { atLeast: 1 } } : {}),
    });
    rows.push({
      group,
      title: `${label}: mean common prefix`,
      ours: percent(prefix),
      value: prefix,
      ...(measured ? { target: { atLeast: 0.85 } } : {}),
    });
  }
  return { samples, rows };
}
