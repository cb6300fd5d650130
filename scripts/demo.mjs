// From clone to first token: sets up, builds, fetches small models, transcribes a recording, describes a picture and asks a chat
// model about what was said. `npm run demo`.
import { withLock } from "./lib/lock.mjs";
import { demoModel, demoWhisper } from "./lib/models.mjs";
import { inRoot } from "./lib/paths.mjs";
import { main, run, runAttached } from "./lib/process.mjs";
import { build, fetchModels } from "./lib/tasks.mjs";

const QUESTION = "What is the capital of France?";
/** Made with a speech synthesizer; its text is in test/fixtures/whisper/audio/clips.json. */
const RECORDING = "test/fixtures/whisper/audio/say-en-2.wav";
/** Both are part of the repository: a model of 1 MB that knows simple shapes, and a picture of two of them. */
const SHAPES_MODEL = "test/fixtures/vlm/llava_shapes-tiny-ir";
const PICTURE = "test/fixtures/vlm/images/shapes/00.png";

const pergola = inRoot("dist", "cli", "index.js");
const brief = ["--max-new-tokens", "64", "--temperature", "0"];

const say = (text) => process.stderr.write(text);

/** What is said in the recording. */
async function transcribe() {
  say(`\nTranscribing ${RECORDING}:\n\n`);
  const text = await run(process.execPath, [pergola, "transcribe", RECORDING, "--model", demoWhisper]);
  const line = text.trim().replaceAll("\n", " ");
  say(`> ${line}\n\n`);
  return line;
}

/** Prints what is to be seen in the picture. */
async function caption() {
  say(`Looking at ${PICTURE}:\n\n`);
  const text = await run(process.execPath, [pergola, "caption", PICTURE, "--model", SHAPES_MODEL]);
  say(`> ${text.trim()}\n\n`);
}

await main(async () => {
  await withLock(async () => {
    await build();
    await fetchModels(["smollm2", "whisper-tiny.en"]);
  });
  const chat = [pergola, "chat", "--model", demoModel];
  const said = await transcribe();
  await caption();
  const message = `Voice message: "${said}" How will the weather be tomorrow?`;
  const exitCode = await runAttached(process.execPath, [...chat, "--prompt", message, ...brief]);
  if (exitCode !== 0) return exitCode;
  if (process.stdin.isTTY && process.stdout.isTTY) {
    say("\nNow it is your turn.\n");
    return runAttached(process.execPath, chat);
  }
  say(`\nNo terminal, so the demo asks a question of its own.\n\n> ${QUESTION}\n`);
  return runAttached(process.execPath, [...chat, "--prompt", QUESTION, ...brief]);
});
