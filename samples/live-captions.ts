// Captions while somebody speaks: what is not certain yet is written over until it is. Ctrl-C ends the captions.
//
//   node scripts/sample.mjs live-captions [WAV] [MODEL] [--fast]
//   arecord -q -t raw -f S16_LE -r 16000 -c 1 | node scripts/sample.mjs live-captions - [MODEL]
//
// The WAV file (16 kHz, mono, 16 bits) stands in for a microphone and comes at the pace of speech; `--fast`: as fast as it is read.
import { createReadStream } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { WhisperPipeline } from "pergola";

const [source = "test/fixtures/whisper/audio/say-en-3.wav", model = "models/whisper-tiny.en"] = process.argv
  .slice(2)
  .filter((argument) => argument !== "--fast");
const isFast = process.argv.includes("--fast");

const SAMPLE_RATE = 16_000;
const WAV_HEADER_BYTES = 44;
const PIECE_BYTES = (SAMPLE_RATE / 10) * 2;

let isListening = true;
process.once("SIGINT", () => (isListening = false));

/** Sound as a microphone gives it: a tenth of a second at a time, as numbers from -1 to 1. */
async function* microphone(): AsyncGenerator<Float32Array> {
  const isFile = source !== "-";
  const bytes = isFile
    ? createReadStream(source, { start: WAV_HEADER_BYTES, highWaterMark: PIECE_BYTES })
    : process.stdin;
  let rest = Buffer.alloc(0);
  for await (const piece of bytes as AsyncIterable<Buffer>) {
    if (!isListening) return;
    // A sample may be cut in two.
    const data = Buffer.concat([rest, piece]);
    const count = data.length >> 1;
    rest = data.subarray(count * 2);
    yield Float32Array.from({ length: count }, (_, index) => data.readInt16LE(index * 2) / 32_768);
    if (isFile && !isFast) await sleep((count / SAMPLE_RATE) * 1000);
  }
}

const whisper = await WhisperPipeline.load(model);
try {
  for await (const { type, start, text } of whisper.live(microphone(), { sampleRate: SAMPLE_RATE })) {
    const line = `${start.toFixed(1).padStart(6)}  ${text.trim()}`;
    if (process.stdout.isTTY) process.stdout.write("\r\u001b[K");
    // What seemed to be speech and was none ends without text.
    if (type === "final" && text !== "") process.stdout.write(`${line}\n`);
    // Only the end of a long line is shown: a line that wraps cannot be written over.
    if (type === "partial" && process.stdout.isTTY) process.stdout.write(line.slice(1 - process.stdout.columns));
  }
} finally {
  await whisper.dispose();
}
