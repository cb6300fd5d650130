import { openContestant } from "../lib/contestants.mjs";
import { interleave } from "../lib/interleave.mjs";
import { genaiCache } from "../lib/peers.mjs";
import { ratioRow } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";

/** Each sample is a fresh process. The warm-up round fills the caches of those that have one. */
const CASES = {
  pergola: { id: "gguf:pergola", label: "Pergola, defaults" },
  "pergola-int8": { id: "gguf:pergola-int8", label: "Pergola, weights int8" },
  "pergola-no-cache": { id: "gguf:pergola", label: "Pergola, no cache", changes: { options: { cache: false } } },
  genai: { id: "gguf:genai", label: "openvino_genai, defaults" },
  "genai-cache": {
    id: "gguf:genai",
    label: "openvino_genai, CACHE_DIR",
    changes: { properties: { CACHE_DIR: genaiCache } },
  },
  "node-llama-cpp": { id: "gguf:node-llama-cpp", label: "node-llama-cpp" },
  "pergola-ir": { id: "ir:pergola", label: "Pergola, IR folder" },
  "genai-ir": { id: "ir:genai", label: "openvino_genai, IR folder" },
};

/** `[ours, theirs, target]` */
const PAIRS = [
  ["pergola", "genai", { atMost: 0.25 }],
  ["pergola-int8", "genai"],
  ["pergola-no-cache", "genai"],
  ["pergola", "genai-cache"],
  ["pergola", "node-llama-cpp"],
  ["pergola-ir", "genai-ir"],
];

/** Time from the call that loads the model to a model that is ready, in a process that has imported its library already. */
export async function loadRows({ loadRounds, formats, summary, say }) {
  const ids = Object.keys(CASES).filter((name) => formats.includes(CASES[name].id.split(":")[0]));
  const samples = await interleave({
    ids,
    rounds: loadRounds,
    say,
    prepare: () => undefined,
    measure: async (name) => {
      const { id, changes } = CASES[name];
      const { child, opened } = await openContestant(id, changes);
      await child.close();
      return opened.loadMs;
    },
  });
  for (const name of ids) {
    if (!CASES[name].changes) summary(CASES[name].id).loadMs = median(samples[name]);
  }
  const pairs = PAIRS.filter((pair) => pair.slice(0, 2).every((name) => ids.includes(name)));
  const rows = pairs.map(([ours, theirs, target]) =>
    ratioRow({
      group: "Load, fresh process, warm cache",
      title: `${CASES[ours].label} / ${CASES[theirs].label}`,
      ours: samples[ours],
      theirs: samples[theirs],
      target,
    }),
  );
  return { samples, rows };
}
