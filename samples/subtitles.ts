// Writes subtitles beside a recording, as NAME.srt and NAME.vtt; in the second, each word carries its time.
//
//   node scripts/sample.mjs subtitles [AUDIO] [OUT_FOLDER] [MODEL]
import { rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { formatTranscript, WhisperPipeline } from "pergola";

const audio = process.argv[2] ?? "test/fixtures/whisper/audio/say-en-3.wav";
const folder = process.argv[3] ?? ".";
const model = process.argv[4] ?? "models/whisper-tiny.en";

/** Players that look at the file never see half of it. */
async function write(format: "srt" | "vtt", content: string): Promise<void> {
  const file = path.join(folder, `${path.parse(audio).name}.${format}`);
  await writeFile(`${file}.partial`, content);
  await rename(`${file}.partial`, file);
  console.log(file);
}

const whisper = await WhisperPipeline.load(model);
try {
  // Times of words let subtitles begin and end with the speech.
  const transcript = await whisper.transcribe(audio, { timestamps: "word" });
  await write("srt", formatTranscript(transcript, "srt", { maxLineLength: 37 }));
  await write("vtt", formatTranscript(transcript, "vtt", { highlightWords: true }));
} finally {
  await whisper.dispose();
}
