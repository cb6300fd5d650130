import { contestant, possibleHere } from "../lib/contestants.mjs";
import { interleave } from "../lib/interleave.mjs";
import { ratioRow } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";

const SHORT = 42;
const LONG = 1000;

/** Who takes part, and who is compared with whom; a target stands where the project has one. */
const PLANS = {
  gguf: {
    kinds: [
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
    later: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola-int8", "genai", { atMost: 0.75 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
      ["pergola-fast", "genai"],
      ["pergola-int8-bf16", "genai"],
      ["pergola-int8-fast", "genai"],
      ["pergola", "node-llama-cpp", { atMost: 1.35 }],
      ["pergola-int8", "node-llama-cpp", { atMost: 1 }],
    ],
    short: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
      ["pergola-fast", "genai"],
      ["pergola-int8-fast", "genai"],
    ],
    long: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
      ["pergola-fast", "genai"],
      ["pergola-int8-fast", "genai"],
      // 1.4 times faster.
      ["pergola", "node-llama-cpp", { atMost: 1 / 1.4 }],
    ],
  },
  ir: {
    kinds: ["pergola", "pergola-bf16", "pergola-int8", "genai", "genai-exact"],
    later: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
      ["pergola-int8", "genai"],
    ],
    short: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
    ],
    long: [
      ["pergola", "genai", { atMost: 1 }],
      ["pergola", "genai-exact"],
      ["pergola-bf16", "genai"],
    ],
  },
};

/** First-token times of a short and a long prompt, and the time of later tokens, for all contestants in turn. */
async function measureSpeed({ contestants, prompts, rounds, tokens, say }, ids) {
  return interleave({
    ids,
    rounds,
    say,
    prepare: () => ({ short: prompts.next(SHORT), long: prompts.next(LONG) }),
    measure: async (id, given) => {
      const child = await contestants.get(id);
      const short = await child.ask({ command: "generate", prompt: given.short, tokens });
      const long = await child.ask({ command: "generate", prompt: given.long, tokens: 2 });
      if (short.ids.length !== tokens) throw new Error(`${id} gave ${short.ids.length} tokens, not ${tokens}.`);
      return {
        shortMs: short.ttftMs,
        longMs: long.ttftMs,
        laterMs: (short.totalMs - short.ttftMs) / (tokens - 1),
      };
    },
  });
}

/** The rows of one model format: `gguf` or `ir`. */
export async function speedRows(context, format) {
  const plan = PLANS[format];
  const kinds = await possibleHere(plan.kinds);
  const ids = kinds.map((kind) => `${format}:${kind}`);
  const samples = await measureSpeed(context, ids);
  const rowsOf = (pairs, group, pick) =>
    pairs
      .filter(([ours]) => kinds.includes(ours))
      .map(([ours, theirs, target]) => {
        const [left, right] = [ours, theirs].map((kind) => contestant(`${format}:${kind}`).label);
        const [oursMs, theirsMs] = [ours, theirs].map((kind) => samples[`${format}:${kind}`].map(pick));
        return ratioRow({ group, title: `${left} / ${right}`, ours: oursMs, theirs: theirsMs, target });
      });
  const name = format === "gguf" ? "GGUF file" : "IR folder";
  for (const id of ids) {
    const of = (pick) => median(samples[id].map(pick));
    Object.assign(context.summary(id), {
      shortMs: of((sample) => sample.shortMs),
      longMs: of((sample) => sample.longMs),
      laterMs: of((sample) => sample.laterMs),
    });
  }
  return {
    samples,
    rows: [
      ...rowsOf(plan.later, `Later token, ${name}`, (sample) => sample.laterMs),
      ...rowsOf(plan.short, `First token, prompt of ${SHORT}, ${name}`, (sample) => sample.shortMs),
      ...rowsOf(plan.long, `First token, prompt of ${LONG}, ${name}`, (sample) => sample.longMs),
    ],
  };
}
