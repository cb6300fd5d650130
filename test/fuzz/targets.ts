import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { openAudio } from "../../sdk/media/audio.js";
import { CTranslate2WhisperSource } from "../../sdk/models/convert/models/whisper/ctranslate2-whisper.js";
import { Graph } from "../../sdk/models/convert/ir/graph.js";
import { writeIrText } from "../../sdk/models/convert/ir/ir-writer.js";
import { SafetensorsSource } from "../../sdk/models/convert/read/safetensors.js";
import { readGguf } from "../../sdk/models/gguf/gguf-file.js";
import { loadFakeLLM, TINY_MODEL } from "../../sdk/testing/llm-fixture.js";
import { ChatTemplate } from "../../sdk/text/chat-template.js";
import { templateOfGguf, templateOfText } from "../../sdk/text/template-source.js";
import { Tokenizer } from "../../sdk/text/tokenizer.js";

/** Something that reads what strangers wrote. */
export interface Target {
  /** Files of `test/fixtures` that are seeds beside those in `seeds/NAME`. */
  fixtures?: readonly string[];
  /** Inputs tried in the unit tests, where reading one takes long. */
  rounds?: number;
  /** Reads an input to its end. Throws a PergolaError for what cannot be read; anything else is a fault. */
  read(bytes: Uint8Array): Promise<unknown>;
}

const folder = mkdtempSync(path.join(tmpdir(), "pergola-fuzz-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

async function fileOf(name: string, bytes: Uint8Array): Promise<string> {
  const file = path.join(folder, name);
  await writeFile(file, bytes);
  return file;
}

const TEXTS = ["Hello, world! 123", " é😀\u0301\n\t<|im_end|>", "a".repeat(50), ""];

function useTokenizer(tokenizer: Tokenizer): void {
  for (const text of TEXTS) tokenizer.decode(tokenizer.encode(text));
  tokenizer.decode([0, 1, 2, 3, 5, 8, 13, 1e6]);
}

/** A file of a few kilobytes may well say that it holds hours; reading stops here. */
const MOST_SAMPLES = 20_000_000;

async function readAudio(bytes: Uint8Array): Promise<void> {
  let samples = 0;
  for await (const piece of await openAudio(bytes)) {
    samples += piece.length;
    if (samples > MOST_SAMPLES) break;
  }
}

let tinyTokenizer: Promise<Tokenizer> | undefined;
let llm: ReturnType<typeof loadFakeLLM> | undefined;

const CHATS = [
  [{ role: "user", content: "Hi <|im_end|>" }],
  [
    { role: "system", content: "Be brief." },
    { role: "user", content: "One?" },
    {
      role: "assistant",
      content: "Two.",
      tool_calls: [{ type: "function", function: { name: "f", arguments: { a: 1 } } }],
    },
    { role: "user", content: "" },
  ],
] as const;

export const TARGETS: Readonly<Record<string, Target>> = {
  gguf: {
    async read(bytes) {
      const gguf = await readGguf(await fileOf("model.gguf", bytes));
      templateOfGguf(gguf);
      useTokenizer(await Tokenizer.fromGguf(gguf));
    },
  },
  safetensors: {
    async read(bytes) {
      await fileOf("model.safetensors", bytes);
      const source = await SafetensorsSource.open(folder);
      try {
        for (const [name, { shape }] of source.tensors) await source.read(name, 0, shape.length > 0 ? shape[0]! : 1);
      } finally {
        await source.close();
      }
    },
  },
  ctranslate2: {
    fixtures: ["whisper/ct2-tiny/model.bin"],
    async read(bytes) {
      const source = await CTranslate2WhisperSource.open(await fileOf("model.bin", bytes));
      await source.close();
    },
  },
  wav: {
    fixtures: ["pcm-u8.wav", "ima-adpcm-stereo.wav", "a-law.wav", "refused-gsm.wav"].map((name) => `audio/${name}`),
    read: readAudio,
  },
  ogg: {
    rounds: 10,
    fixtures: ["opus-24k.opus", "vorbis-16k.ogg"].map((name) => `audio/${name}`),
    read: readAudio,
  },
  mp3: { rounds: 25, fixtures: ["audio/mp3-16k.mp3"], read: readAudio },
  "tokenizer-json": {
    fixtures: ["llm/llama-tiny-hf/tokenizer.json", "whisper/ct2-tiny/tokenizer.json"],
    async read(bytes) {
      await fileOf("tokenizer.json", bytes);
      useTokenizer(await Tokenizer.fromFolder(folder));
    },
  },
  "chat-template": {
    async read(bytes) {
      const tokenizer = await (tinyTokenizer ??= Tokenizer.fromFolder(TINY_MODEL));
      const text = Buffer.from(bytes).toString();
      const template = new ChatTemplate(templateOfText(text, "chat_template.jinja"), tokenizer, () => new Date(0));
      for (const chat of CHATS) template.render(chat as never);
    },
  },
  "chat-json": {
    async read(bytes) {
      const { llm: pipeline } = await (llm ??= loadFakeLLM());
      const chat = pipeline.restoreChat(Buffer.from(bytes).toString());
      JSON.stringify(chat.toJSON());
      await pipeline.explain({ prompt: [...chat.history, { role: "user", content: "Go on." }] as never });
    },
  },
  "ir-names": {
    async read(bytes) {
      const name = Buffer.from(bytes).toString();
      const graph = new Graph(name);
      const input = graph.add("Parameter", { attributes: { shape: "?", element_type: "f32" }, output: "f32" });
      graph.rename(input, name || "x");
      graph.nodes[0]!.outputNames.push(name);
      await writeIrText(graph, path.join(folder, "graph"));
      checkXml(readFileSync(path.join(folder, "graph.xml"), "utf8"));
    },
  },
};

/** Characters that XML 1.0 cannot hold, and markup that a name has opened. */
function checkXml(text: string): void {
  // eslint-disable-next-line no-control-regex
  const odd = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])/.exec(text);
  if (odd) throw new Error(`The XML has the character ${JSON.stringify(odd[0])}`);
  const rest = text.replace(/<[?/]?[a-z_]+(?: [a-z_-]+="[^"<>]*")*\s*[?/]?>/g, "").trim();
  if (rest !== "") throw new Error(`The XML has a tag too many or too few: ${rest.slice(0, 80)}`);
}

const here = (...parts: string[]): string => fileURLToPath(new URL(path.posix.join(...parts), import.meta.url));

/** Inputs from which changes start. */
export function seedsOf(name: string, root = here("./")): Uint8Array[] {
  const own = filesOf(path.join(root, "seeds", name));
  const fixtures = (TARGETS[name]!.fixtures ?? []).map((file) => path.join(root, "..", "fixtures", file));
  return [...own, ...fixtures].map((file) => readFileSync(file));
}

/** Inputs that showed a fault once. */
export function regressionsOf(name: string, root = here("./")): string[] {
  return filesOf(path.join(root, "regressions", name));
}

function filesOf(place: string): string[] {
  try {
    return readdirSync(place)
      .sort()
      .map((file) => path.join(place, file));
  } catch {
    return [];
  }
}
