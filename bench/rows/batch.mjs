import { contestant, possibleHere } from "../lib/contestants.mjs";
import { interleave } from "../lib/interleave.mjs";
import { ratioRow, tokensPerSecond } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";

const REQUESTS = 8;
const PROMPT_TOKENS = 42;
const GROUP = `${REQUESTS} requests at once, GGUF file`;

/** Engines that answer several requests; Pergola is also measured with one. */
const IDS = [
  "pergola",
  "pergola-int8",
  "pergola-bf16",
  "pergola-fast",
  "pergola-int8-fast",
  "genai-batching",
  "genai-batching-exact",
  "node-llama-cpp",
];

const gguf = (kind) => `gguf:${kind}`;

/** Tokens a second of eight requests, against one request and against continuous batching elsewhere. */
export async function batchRows({ contestants, prompts, batchRounds, tokens, say, summary }) {
  const rate = ({ tokens: count, totalMs }) => count / (totalMs / 1000);
  const kinds = await possibleHere(IDS);
  const samples = await interleave({
    ids: kinds.map(gguf),
    rounds: batchRounds,
    say,
    prepare: () => ({ one: prompts.several(1, PROMPT_TOKENS), many: prompts.several(REQUESTS, PROMPT_TOKENS) }),
    measure: async (id, { one, many }) => {
      const child = await contestants.get(id);
      const alone = await child.ask({ command: "batch", prompts: one, tokens });
      const together = await child.ask({ command: "batch", prompts: many, tokens });
      if (together.tokens !== REQUESTS * tokens) throw new Error(`${id} gave ${together.tokens} tokens.`);
      return { one: rate(alone), many: rate(together) };
    },
  });
  const many = (kind) => samples[gguf(kind)].map((sample) => sample.many);
  const one = (kind) => samples[gguf(kind)].map((sample) => sample.one);
  for (const id of kinds.map(gguf)) summary(id).batchRate = median(samples[id].map((sample) => sample.many));
  const label = (kind) => contestant(gguf(kind)).label;
  const against = (ours, theirs, target) =>
    ratioRow({
      group: GROUP,
      title: `${label(ours)} / ${label(theirs)}`,
      ours: many(ours),
      theirs: many(theirs),
      target,
      show: tokensPerSecond,
    });
  const withOne = (kind, target) =>
    ratioRow({
      group: GROUP,
      title: `${label(kind)}: ${REQUESTS} / 1 request`,
      ours: many(kind),
      theirs: one(kind),
      target,
      show: tokensPerSecond,
    });
  return {
    samples,
    rows: [
      withOne("pergola", { atLeast: 2.5 }),
      withOne("pergola-int8"),
      withOne("genai-batching"),
      against("pergola", "genai-batching", { atLeast: 1 }),
      against("pergola", "genai-batching-exact"),
      against("pergola-int8", "genai-batching"),
      ...["pergola-bf16", "pergola-fast", "pergola-int8-fast"]
        .filter((kind) => kinds.includes(kind))
        .map((kind) => against(kind, "genai-batching")),
      against("pergola", "node-llama-cpp"),
    ],
  };
}
