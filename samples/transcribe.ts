// Prints what was said in a recording while it is found, then what it cost. Ctrl-C stops and keeps what came.
//
//   node scripts/sample.mjs transcribe [AUDIO] [MODEL]
import { WhisperPipeline } from "pergola";

const audio = process.argv[2] ?? "test/fixtures/whisper/audio/say-en-3.wav";
const model = process.argv[3] ?? "models/whisper-tiny.en";

const whisper = await WhisperPipeline.load(model);
try {
  const stream = whisper.stream(audio);
  process.once("SIGINT", () => void stream.stop());
  for await (const { start, text } of stream) console.log(`${start.toFixed(2).padStart(8)}  ${text.trim()}`);

  const { language, duration, metrics } = await stream.result;
  const seconds = metrics.durationMs / 1000;
  console.log(`[${language}: ${duration.toFixed(1)} s in ${seconds.toFixed(1)} s, ${metrics.windows} windows]`);
} finally {
  await whisper.dispose();
}
