import { wordErrors } from "../../dist/cli/word-error-rate.js";
import { interleave } from "../lib/interleave.mjs";
import { milliseconds, ratioRow } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";
import {
  CLIPS,
  CONTESTANTS,
  openFeatures,
  readClip,
  WHISPER_MODELS,
  WhisperEngines,
  writeSamples,
} from "../lib/whisper.mjs";

const seconds = (value) => `${(value / 1000).toFixed(2)} s`;

/** `[clip, ours, theirs, target]`; of several peers the quickest one counts. */
const PAIRS = [
  ["long", "pergola", ["genai", "faster-int8"], { atMost: 0.95 }],
  ["long", "pergola-batched", ["genai", "faster-int8"], { atMost: 0.8 }],
  ["long", "pergola-batched", ["faster-int8-batched"]],
  ["long", "pergola", ["genai-exact"]],
  ["long", "pergola", ["faster-f32"]],
  ["long", "pergola-batched", ["faster-f32-batched"]],
  ["long", "pergola-int8", ["pergola"]],
  ["long", "pergola-int8-batched", ["pergola-batched"]],
  ["short", "pergola", ["genai"], { atMost: 0.9 }],
  ["short", "pergola", ["genai-exact"]],
  ["short", "pergola", ["faster-int8"]],
];

/** All contestants in turn on both recordings, with one model. */
async function measureModel(name, engines, clips, { whisperRounds, say }) {
  return interleave({
    ids: Object.keys(CONTESTANTS),
    rounds: whisperRounds,
    say: (text) => say(`${name}, ${text}`),
    prepare: () => undefined,
    measure: async (id) => ({
      long: await engines.transcribe(id, clips.long),
      short: await engines.transcribe(id, clips.short),
    }),
  });
}

function timeRows(name, samples, clips) {
  const times = (id, clip) => samples[id].map((sample) => sample[clip].totalMs);
  return PAIRS.map(([clip, ours, peers, target]) => {
    const theirs = peers.reduce((best, id) => (median(times(id, clip)) < median(times(best, clip)) ? id : best));
    return ratioRow({
      group: `Whisper ${name}, ${clips[clip].seconds.toFixed(0)} s of speech`,
      title: `${CONTESTANTS[ours].label} / ${CONTESTANTS[theirs].label}`,
      ours: times(ours, clip),
      theirs: times(theirs, clip),
      target,
      show: seconds,
    });
  });
}

/** Word errors of each contestant on the long recording; batching must not add any. */
function errorRows(name, samples, clips) {
  const errorsOf = (id) => wordErrors(clips.long.reference, samples[id].at(-1).long.text);
  return Object.entries(CONTESTANTS).map(([id, { label }]) => {
    const { errors, words, rate } = errorsOf(id);
    return {
      group: `Whisper ${name}, word errors in ${clips.long.seconds.toFixed(0)} s of speech`,
      title: label,
      ours: `${errors} of ${words}`,
      value: rate * 100,
      unit: "%",
      ...(id === "pergola-batched" ? { target: { atMost: errorsOf("pergola").rate * 100 } } : {}),
    };
  });
}

/** Where the time of one contestant goes; for information. */
function stageRows(name, samples, clips) {
  const stageMedian = (id, pick) => median(samples[id].map(({ long }) => pick(long)));
  return ["pergola", "pergola-batched"].flatMap((id) => {
    const row = (title, pick) => {
      const value = stageMedian(id, pick);
      return {
        group: `Whisper ${name}, where the time of ${clips.long.seconds.toFixed(0)} s goes`,
        title: `${CONTESTANTS[id].label}: ${title}`,
        ours: milliseconds(value),
        value,
        unit: "ms",
      };
    };
    const stage = (stageName) => (long) => long.metrics.stages[stageName];
    const decoder = (long) => stage("prefill")(long) + stage("decode")(long);
    const known = (long) => stage("preprocess")(long) + stage("encode")(long) + decoder(long);
    return [
      row("audio and log-mel", stage("preprocess")),
      row("encoder, a window", (long) => stage("encode")(long) / long.metrics.windows),
      row("decoder, a token", (long) => decoder(long) / long.tokens),
      row("everything else", (long) => Math.max(0, long.totalMs - known(long))),
    ];
  });
}

/** Log-mel spectrogram of the long recording against transformers' in numpy. */
async function melRow(engines, clip, { whisperRounds, say }) {
  const samples = writeSamples(clip);
  const features = await openFeatures();
  const measured = await interleave({
    ids: ["pergola", "transformers"],
    rounds: whisperRounds,
    say: (text) => say(`log-mel, ${text}`),
    prepare: () => undefined,
    measure: async (id) => {
      const { totalMs } = await (id === "pergola" ? engines.mel(samples) : features.ask({ command: "mel", samples }));
      return totalMs;
    },
  });
  await features.close();
  return ratioRow({
    group: "Whisper, log-mel spectrogram",
    title: `Pergola / transformers in numpy, ${clip.seconds.toFixed(0)} s`,
    ours: measured.pergola,
    theirs: measured.transformers,
    target: { atMost: 0.1 },
  });
}

/** Times, word errors and memory of Whisper models against other engines, on recordings of people. */
export async function whisperRows(context) {
  const clips = { long: readClip(CLIPS.long), short: readClip(CLIPS.short) };
  const rows = [];
  const samples = {};
  const names = Object.keys(WHISPER_MODELS);
  for (const name of names) {
    const engines = new WhisperEngines(name);
    try {
      samples[name] = await measureModel(name, engines, clips, context);
      rows.push(...timeRows(name, samples[name], clips), ...errorRows(name, samples[name], clips));
      rows.push(...stageRows(name, samples[name], clips));
      // Any model's process will do: no model takes part in it.
      if (name === names[0]) rows.push(await melRow(engines, clips.long, context));
      for (const id of ["pergola", "pergola-int8", "genai", "faster-int8", "faster-f32"]) {
        const bytes = await engines.peakRssBytes(id);
        rows.push({
          group: `Whisper ${name}, peak memory`,
          title: CONTESTANTS[id].label.replace(", sequential", ""),
          ours: `${(bytes / 1e6).toFixed(0)} MB`,
          value: bytes / 1e6,
          unit: "MB",
        });
      }
    } finally {
      await engines.close();
    }
  }
  return { samples, rows };
}
