// Pergola's WhisperPipeline behind the protocol of serve.mjs; needs `npm run build`.
import { readFileSync } from "node:fs";
import { WhisperPipeline } from "../../dist/index.js";
import { getNative } from "../../dist/core/native.js";
import { serve } from "./serve.mjs";

/** @type {WhisperPipeline} */
let whisper;

async function open({ model, options }) {
  const started = performance.now();
  whisper = await WhisperPipeline.load(model, options);
  return { loadMs: performance.now() - started };
}

async function transcribe({ audio, language, batchSize }) {
  const started = performance.now();
  const { text, metrics, segments } = await whisper.transcribe(audio, { language, batchSize });
  const totalMs = performance.now() - started;
  return { totalMs, text, metrics, tokens: segments.reduce((sum, { tokens }) => sum + tokens.length, 0) };
}

/** The log-mel spectrogram alone, of raw samples in a file. */
async function mel({ samples }) {
  const bytes = readFileSync(samples);
  const values = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
  const started = performance.now();
  const spectrogram = getNative().createLogMel(80);
  await spectrogram.append(values);
  await spectrogram.finish();
  // Reading applies Whisper's scaling, which the reference does too.
  spectrogram.read(0, spectrogram.frames, spectrogram.frames, 0);
  return { totalMs: performance.now() - started, frames: spectrogram.frames };
}

await serve({
  open,
  transcribe,
  mel,
  // In kilobytes on Linux.
  memory: () => ({ peakRssBytes: process.resourceUsage().maxRSS * 1024 }),
});
