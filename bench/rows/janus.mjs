import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import { interleave } from "../lib/interleave.mjs";
import {
  checkpoint,
  convertedFolder,
  FORMATS,
  IMAGE_TOKENS,
  janusCache,
  lateness,
  MEASURES,
  openPergola,
  openStep,
  openTransformers,
  pictureMs,
  PROMPT_TOKENS,
  ROWS,
  startPergola,
  stepBytes,
  tokensMs,
} from "../lib/janus.mjs";
import { megabytes, milliseconds, ratioRow } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";

const MEGABYTE = 1e6;
const seconds = (value) => `${(value / 1000).toFixed(1)} s`;
const groupOf = (weights) => `Janus (${path.basename(checkpoint())}), weights ${weights}`;

/** A row about one value in seconds or megabytes, against a bound. */
function plainRow(weights, title, values, unit, target) {
  const value = median(values);
  const range = values.length > 1 ? { range: [Math.min(...values), Math.max(...values)] } : {};
  return { group: groupOf(weights), title, ours: "", value, unit, ...range, ...(target ? { target } : {}) };
}

/** Converts in a fresh process; `undefined` where a quick run finds the folder already there. */
async function convert(weights, { janusConverts, say }) {
  const out = convertedFolder(weights);
  if (!janusConverts && existsSync(out)) return undefined;
  say(`converting to ${weights}`);
  rmSync(out, { recursive: true, force: true });
  const child = startPergola();
  const { convertMs, bytes } = await child.ask({ command: "convert", checkpoint: checkpoint(), out, weights });
  const { peakRssBytes } = await child.ask({ command: "memory" });
  await child.close();
  return { convertMs, bytes, peakRssBytes };
}

function conversionRows(weights, sample) {
  if (!sample) return [];
  return [
    plainRow(weights, `conversion to ${megabytes(sample.bytes)}`, [sample.convertMs / 1000], "s", { atMost: 90 }),
    plainRow(weights, "conversion, peak RSS", [sample.peakRssBytes / MEGABYTE], "MB", { atMost: 1000 }),
  ];
}

/** Each sample is a fresh process; the warm-up round compiles and fills the cache. */
async function measureLoads({ janusRounds, say }) {
  return interleave({
    ids: FORMATS,
    rounds: janusRounds,
    say: (text) => say(`load, ${text}`),
    prepare: () => undefined,
    measure: async (weights) => {
      const { child, loadMs } = await openPergola(weights);
      await child.close();
      return loadMs;
    },
  });
}

/**
 * Highest memory of a fresh process that makes a picture. Without `--full` it makes only the beginning, and the keys and values of
 * the steps left out are added.
 */
async function measureMemory(weights, { full, janusSteps, say }) {
  say(`memory of a picture, ${weights}`);
  const { child, info } = await openPergola(weights);
  let picture;
  if (full) {
    picture = await child.ask({ command: "picture", promptTokens: PROMPT_TOKENS });
  } else {
    await child.ask({ command: "begin", n: 1, promptTokens: PROMPT_TOKENS, steps: janusSteps });
    await child.ask({ command: "decode" });
  }
  const { peakRssBytes } = await child.ask({ command: "memory" });
  await child.close();
  const missing = full ? 0 : (IMAGE_TOKENS - janusSteps) * ROWS[1] * info.kvBytesPerToken;
  return { peakRssBytes: peakRssBytes + missing, picture };
}

/** Our pipeline, the bare language model and the reference in turn. */
async function measureSpeed(weights, transformers, { janusRounds, janusSteps, say }) {
  const open = { transformers };
  try {
    open.pergola = (await openPergola(weights)).child;
    open.bare = (await openStep(weights)).child;
    return await interleave({
      ids: ["pergola", "bare", "transformers"],
      rounds: janusRounds,
      say: (text) => say(`${weights}, ${text}`),
      prepare: () => undefined,
      measure: (id) => MEASURES[id](open[id], { steps: janusSteps }),
    });
  } finally {
    // The reference goes on to the next format.
    await Promise.all([open.pergola, open.bare].map((child) => child?.close()));
  }
}

function speedRows(weights, samples, { bandwidth }) {
  const group = groupOf(weights);
  const ours = (pick) => samples.pergola.map(pick);
  const bare = (pick) => samples.bare.map(pick);
  const late = { 1: lateness(samples, 1), 4: lateness(samples, 4) };
  const compare = (title, left, right, show, target) =>
    ratioRow({ group, title, ours: left, theirs: right, show, target });
  const step = (n) =>
    compare(
      `step of ${n === 1 ? "one picture" : "four pictures"} (${ROWS[n]} rows) / language model alone`,
      ours((sample) => sample.step[n]),
      bare((sample) => sample.step[n]),
      milliseconds,
    );
  const middleSteps = ours(({ step: { 1: ms } }) => ms + late[1]);
  const floorMs = (stepBytes(weights) / bandwidth) * 1000;
  const one = ours((sample) => pictureMs(sample, late[1]));
  return [
    step(1),
    step(4),
    compare(
      "step in the middle of a picture / floor",
      middleSteps,
      middleSteps.map(() => floorMs),
      milliseconds,
    ),
    compare(
      "picture without VQ decoding / 576 steps of the language model alone",
      ours((sample) => tokensMs(sample, late[1])),
      bare(({ middleStep }) => IMAGE_TOKENS * middleStep[1]),
      seconds,
      { atMost: 1.05 },
    ),
    plainRow(
      weights,
      "VQ decoding of a picture",
      ours(({ decodeMs }) => decodeMs / 1000),
      "s",
      { atMost: 10 },
    ),
    plainRow(
      weights,
      "whole picture",
      one.map((ms) => ms / 1000),
      "s",
    ),
    compare(
      "four pictures at once / one",
      ours((sample) => pictureMs(sample, late[4], 4)),
      one,
      seconds,
      { atMost: 2.6 },
    ),
  ];
}

/** Against PyTorch; the targets are about int8. */
function referenceRows(weights, samples, memory, theirs) {
  const group = groupOf(weights);
  const late = lateness(samples, 1);
  const picture = (id) => samples[id].map((sample) => pictureMs(sample, id === "pergola" ? late : 0));
  const target = (atMost) => (weights === "int8" ? { atMost } : undefined);
  const compare = (title, left, right, show, bound) =>
    ratioRow({ group, title: `${title} / transformers, f32`, ours: left, theirs: right, show, target: bound });
  const both = (title, pick, show) => compare(title, samples.pergola.map(pick), samples.transformers.map(pick), show);
  return [
    both("step", ({ step }) => step[1], milliseconds),
    both("VQ decoding", ({ decodeMs }) => decodeMs, seconds),
    // 1.5 times faster.
    compare("whole picture", picture("pergola"), picture("transformers"), seconds, target(1 / 1.5)),
    compare("peak RSS", [memory.peakRssBytes], [theirs.peakRssBytes], megabytes, target(1 / 3)),
    // Without what it needs for a moment while it loads.
    compare("peak RSS (theirs: RSS at the end)", [memory.peakRssBytes], [theirs.rssBytes], megabytes),
  ];
}

/** What `--full` measures in one piece, beside what the parts add up to. */
function wholeRow(weights, samples, { picture }) {
  if (!picture) return [];
  return [
    ratioRow({
      group: groupOf(weights),
      title: "whole picture in one piece / from its parts",
      ours: [picture.totalMs],
      theirs: [median(samples.pergola.map((sample) => pictureMs(sample, lateness(samples, 1))))],
      show: seconds,
    }),
  ];
}

/** Converting, loading and pictures of a model of real dimensions, against the bare language model and PyTorch. */
export async function janusRows(context) {
  const samples = { convert: {}, memory: {}, speed: {} };
  if (context.janusConverts) rmSync(janusCache, { recursive: true, force: true });
  for (const weights of FORMATS) samples.convert[weights] = await convert(weights, context);
  samples.load = await measureLoads(context);
  for (const weights of FORMATS) samples.memory[weights] = await measureMemory(weights, context);

  context.say("opening transformers");
  const { child: transformers } = await openTransformers();
  try {
    for (const weights of FORMATS) samples.speed[weights] = await measureSpeed(weights, transformers, context);
    samples.memory.transformers = await transformers.ask({ command: "memory" });
  } finally {
    await transformers.close();
  }

  const rows = FORMATS.flatMap((weights) => {
    const speed = samples.speed[weights];
    const memory = samples.memory[weights];
    return [
      ...conversionRows(weights, samples.convert[weights]),
      plainRow(
        weights,
        "load from cache, fresh process",
        samples.load[weights].map((ms) => ms / 1000),
        "s",
        { atMost: 5 },
      ),
      ...speedRows(weights, speed, context),
      ...referenceRows(weights, speed, memory, samples.memory.transformers),
      ...wholeRow(weights, speed, memory),
    ];
  });
  return { samples, rows };
}
