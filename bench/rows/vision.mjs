import { interleave } from "../lib/interleave.mjs";
import { ratioRow } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";
import { openVision, PICTURES, QUESTIONS, VISION_CONTESTANTS, VISION_MODELS, writePictures } from "../lib/vision.mjs";

const PEERS = ["genai", "genai-exact"];
/** openvino_genai as it comes is what the targets are about. */
const AS_GOOD = { genai: { atMost: 1 } };
/** Where nothing is encoded, what is left is looking up features. */
const NO_ENCODER = { atMost: 0.1 };

const laterMs = ({ totalMs, ttftMs, tokens }) => (totalMs - ttftMs) / (tokens - 1);

/** Two questions about each picture, all contestants in turn. A sample: for each picture the answers to both. */
async function measureModel(model, { visionRounds, visionTokens: tokens, say }) {
  const engines = await openVision(model);
  try {
    return await interleave({
      ids: Object.keys(VISION_CONTESTANTS),
      rounds: visionRounds,
      say: (text) => say(`${model}, ${text}`),
      prepare: writePictures,
      measure: async (id, pictures) => {
        const sample = {};
        for (const picture of pictures) {
          const answers = [];
          for (const question of QUESTIONS) answers.push(await engines.ask(id, { picture, question, tokens }));
          const short = answers.find((answer) => answer.tokens !== tokens);
          if (short) throw new Error(`${id} gave ${short.tokens} tokens, not ${tokens}.`);
          sample[picture.name] = { first: answers[0], second: answers[1] };
        }
        return sample;
      },
    });
  } finally {
    await engines.close();
  }
}

function speedRows(model, samples, name) {
  const { width, height } = PICTURES[name];
  const valuesOf = (id, pick) => samples[id].map((sample) => pick(sample[name]));
  const against = (title, pick) =>
    PEERS.map((peer) =>
      ratioRow({
        group: `Vision ${model}, picture of ${width} × ${height}`,
        title: `${title}: ${VISION_CONTESTANTS.pergola.label} / ${VISION_CONTESTANTS[peer].label}`,
        ours: valuesOf("pergola", pick),
        theirs: valuesOf(peer, pick),
        target: AS_GOOD[peer],
      }),
    );
  return [
    ...against("first token", ({ first }) => first.ttftMs),
    ...against("later token", ({ first }) => laterMs(first)),
  ];
}

function secondQuestionRows(model, samples, name) {
  const { width, height } = PICTURES[name];
  const group = `Vision ${model}, second question about a picture of ${width} × ${height}`;
  const ratio = (id, title, pick, target) =>
    ratioRow({
      group,
      title,
      ours: samples[id].map((sample) => pick(sample[name].second)),
      theirs: samples[id].map((sample) => pick(sample[name].first)),
      target,
    });
  const firstToken = ({ ttftMs }) => ttftMs;
  return [
    ratio("pergola", "Pergola: first token / that of the first question", firstToken, { atMost: 0.5 }),
    ratio(
      "pergola",
      "Pergola: time in the encoder / that of the first question",
      ({ encodeMs }) => encodeMs,
      NO_ENCODER,
    ),
    ...PEERS.map((peer) =>
      ratio(peer, `${VISION_CONTESTANTS[peer].label}: first token / that of the first question`, firstToken),
    ),
  ];
}

/** All are to be asked the same. */
function checkPrompts(samples) {
  const lengths = Object.values(samples).map(([sample]) => Object.values(sample)[0].first.promptTokens);
  if (new Set(lengths).size > 1) throw new Error(`Prompts of ${lengths.join(", ")} tokens are not the same prompt.`);
}

/** How much the answers have in common: the exact settings are to say the same. */
function agreementRows(model, samples) {
  return PEERS.map((peer) => {
    const shares = samples.pergola.flatMap((sample, round) =>
      Object.keys(sample).flatMap((name) =>
        ["first", "second"].map((which) => {
          const theirs = samples[peer][round][name][which].text.trim();
          return sample[name][which].text.trim() === theirs ? 1 : 0;
        }),
      ),
    );
    const equal = shares.filter((share) => share === 1).length;
    return {
      group: `Vision ${model}, equal answers`,
      title: `Pergola and ${VISION_CONTESTANTS[peer].label}`,
      ours: `${equal} of ${shares.length}`,
      value: (equal / shares.length) * 100,
      unit: "%",
    };
  });
}

/** Where our time to the first token goes; for information. */
function stageRows(model, samples, name) {
  const { width, height } = PICTURES[name];
  const row = (title, pick) => {
    const value = median(samples.pergola.map((sample) => pick(sample[name].first)));
    const group = `Vision ${model}, where Pergola's first token of ${width} × ${height} goes`;
    return { group, title, ours: "", value, unit: "ms" };
  };
  return [
    row("preparing the picture", ({ preprocessMs }) => preprocessMs),
    row("encoder", ({ encodeMs }) => encodeMs),
    row("everything else", ({ ttftMs, preprocessMs, encodeMs }) => ttftMs - preprocessMs - encodeMs),
  ];
}

/** Questions about pictures, against openvino_genai on the same folders. */
export async function visionRows(context) {
  const rows = [];
  const samples = {};
  for (const model of Object.keys(VISION_MODELS)) {
    samples[model] = await measureModel(model, context);
    checkPrompts(samples[model]);
    const names = Object.keys(PICTURES);
    for (const rowsOf of [speedRows, secondQuestionRows, stageRows]) {
      rows.push(...names.flatMap((name) => rowsOf(model, samples[model], name)));
    }
    rows.push(...agreementRows(model, samples[model]));
  }
  return { samples, rows };
}
