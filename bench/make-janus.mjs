// A Janus-Pro checkpoint with the published shapes and random weights, for measuring: nobody's weights are needed for times.
//   node bench/make-janus.mjs FOLDER [--size 1b|7b]
// bf16 safetensors in transformers' layout, in shards of at most 5 GB; written in a stream, so that it needs little memory.
import { once } from "node:events";
import { copyFileSync, createWriteStream, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { finished } from "node:stream/promises";
import { parseArgs } from "node:util";
import { inRoot } from "../scripts/lib/paths.mjs";
import { main, SetupError } from "../scripts/lib/process.mjs";
import { janusConfiguration, janusShapes, SIZE_NAMES, SPECIAL_TOKENS } from "./lib/janus-shapes.mjs";
import { randomNumbers } from "./lib/random.mjs";

const SHARD_BYTES = 5e9;
const BYTES_PER_VALUE = 2;
/** Random values are made once and used again and again, from another place for each tensor. */
const BLOCK_VALUES = 1 << 22;
const LARGEST_SHIFT = 4096;
/** Its tokenizer knows single bytes; vocabulary and special tokens get the real model's ids. */
const TINY = inRoot("test", "fixtures", "janus", "tiny");

const valuesOf = (shape) => shape.reduce((product, size) => product * size, 1);

/** Normally distributed values (Box-Muller). */
function normalValues(count) {
  const random = randomNumbers(7);
  const values = new Float32Array(count);
  for (let index = 0; index < count; index += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - random()));
    const angle = 2 * Math.PI * random();
    values[index] = radius * Math.cos(angle);
    values[index + 1] = radius * Math.sin(angle);
  }
  return values;
}

/** Spread and middle of a tensor's values: such that activations neither vanish nor grow over any number of layers. */
function distribution(name, shape) {
  if (name.endsWith(".bias")) return { scale: 0.01, offset: 0 };
  if (shape.length === 1) return { scale: 0.05, offset: 1 };
  if (name.includes("embed_tokens")) return { scale: 0.5, offset: 0 };
  if (name.includes("position_embedding")) return { scale: 0.2, offset: 0 };
  if (name.includes("generation_embeddings") || name.includes("quantize")) return { scale: 1, offset: 0 };
  return { scale: 1 / Math.sqrt(valuesOf(shape.slice(1))), offset: 0 };
}

/** Bytes of bf16 values, rounded to nearest. */
function toBf16(values, { scale, offset }) {
  const floats = Float32Array.from(values, (value) => value * scale + offset);
  const bits = new Uint32Array(floats.buffer);
  const halves = Uint16Array.from(bits, (value) => (value + 0x7fff + ((value >>> 16) & 1)) >>> 16);
  return Buffer.from(halves.buffer);
}

/** Gives the bytes of tensors piece by piece. */
class RandomBytes {
  #normal = normalValues(BLOCK_VALUES + LARGEST_SHIFT);
  #blocks = new Map();

  *pieces(index, name, shape) {
    const spread = distribution(name, shape);
    const key = `${spread.scale} ${spread.offset}`;
    if (!this.#blocks.has(key)) this.#blocks.set(key, toBf16(this.#normal, spread));
    const block = this.#blocks.get(key);
    let shift = (index * 37) % LARGEST_SHIFT;
    for (let left = valuesOf(shape); left > 0; left -= BLOCK_VALUES) {
      const start = shift * BYTES_PER_VALUE;
      yield block.subarray(start, start + Math.min(left, BLOCK_VALUES) * BYTES_PER_VALUE);
      shift = (shift + 61) % LARGEST_SHIFT;
    }
  }
}

/** Lists of `[name, shape]`, one for each file. */
function shardsOf(shapes) {
  const shards = [[]];
  let bytes = 0;
  for (const entry of [...shapes].sort(([left], [right]) => (left < right ? -1 : 1))) {
    const size = valuesOf(entry[1]) * BYTES_PER_VALUE;
    if (bytes + size > SHARD_BYTES) {
      shards.push([]);
      bytes = 0;
    }
    shards.at(-1).push(entry);
    bytes += size;
  }
  return shards;
}

function headerOf(tensors) {
  let offset = 0;
  const entries = tensors.map(([name, shape]) => {
    const start = offset;
    offset += valuesOf(shape) * BYTES_PER_VALUE;
    return [name, { dtype: "BF16", shape, data_offsets: [start, offset] }];
  });
  const json = Buffer.from(JSON.stringify({ __metadata__: { format: "pt" }, ...Object.fromEntries(entries) }));
  const header = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, " ");
  header.writeBigUInt64LE(BigInt(header.length - 8));
  json.copy(header, 8);
  return header;
}

async function writeShard(file, tensors, random, firstIndex) {
  const stream = createWriteStream(file);
  const done = finished(stream);
  const write = async (bytes) => {
    if (!stream.write(bytes)) await Promise.race([once(stream, "drain"), done]);
  };
  await write(headerOf(tensors));
  for (const [index, [name, shape]] of tensors.entries()) {
    for (const piece of random.pieces(firstIndex + index, name, shape)) await write(piece);
  }
  stream.end();
  await done;
}

async function writeWeights(folder, shapes) {
  const random = new RandomBytes();
  const shards = shardsOf(shapes);
  const nameOf = (index) => {
    const part = (number) => String(number).padStart(5, "0");
    return shards.length === 1 ? "model.safetensors" : `model-${part(index + 1)}-of-${part(shards.length)}.safetensors`;
  };
  let written = 0;
  for (const [index, tensors] of shards.entries()) {
    await writeShard(path.join(folder, nameOf(index)), tensors, random, written);
    written += tensors.length;
  }
  if (shards.length === 1) return;
  const map = shards.flatMap((tensors, index) => tensors.map(([name]) => [name, nameOf(index)]));
  writeJson(path.join(folder, "model.safetensors.index.json"), {
    metadata: { total_size: [...shapes.values()].reduce((sum, shape) => sum + valuesOf(shape) * BYTES_PER_VALUE, 0) },
    weight_map: Object.fromEntries(map),
  });
}

const writeJson = (file, value) => writeFileSync(file, JSON.stringify(value, null, 1));

/** The tiny model's tokenizer with special tokens at their real ids and a vocabulary of the real length. */
function writeTokenizer(folder) {
  const read = (name) => JSON.parse(readFileSync(path.join(TINY, name), "utf8"));
  const tokenizer = read("tokenizer.json");
  for (const token of tokenizer.added_tokens) token.id = SPECIAL_TOKENS[token.content];
  const { vocab } = tokenizer.model;
  Object.assign(vocab, SPECIAL_TOKENS);
  const used = new Set(Object.values(vocab));
  for (let id = 0; id < Math.max(...used); id++) if (!used.has(id)) vocab[`<unused_${id}>`] = id;
  for (const special of Object.values(tokenizer.post_processor.special_tokens)) {
    special.ids = special.tokens.map((token) => SPECIAL_TOKENS[token]);
  }
  writeJson(path.join(folder, "tokenizer.json"), tokenizer);
  const configuration = read("tokenizer_config.json");
  const decoder = Object.values(configuration.added_tokens_decoder);
  configuration.added_tokens_decoder = Object.fromEntries(
    decoder.map((token) => [SPECIAL_TOKENS[token.content], token]),
  );
  writeJson(path.join(folder, "tokenizer_config.json"), configuration);
  for (const name of ["chat_template.jinja", "special_tokens_map.json"]) {
    copyFileSync(path.join(TINY, name), path.join(folder, name));
  }
}

/** Writes the checkpoint; the folder appears when it is complete. */
export async function makeJanus(folder, size = "1b") {
  const temporary = `${folder}.partial`;
  rmSync(temporary, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
  for (const [name, value] of Object.entries(janusConfiguration(size))) writeJson(path.join(temporary, name), value);
  writeTokenizer(temporary);
  await writeWeights(temporary, janusShapes(size));
  rmSync(folder, { recursive: true, force: true });
  renameSync(temporary, folder);
}

if (process.argv[1] === import.meta.filename) {
  await main(async () => {
    const { values, positionals } = parseArgs({
      options: { size: { type: "string", default: "1b" } },
      allowPositionals: true,
    });
    if (positionals.length !== 1 || !SIZE_NAMES.includes(values.size)) {
      throw new SetupError("Usage: node bench/make-janus.mjs FOLDER [--size 1b|7b]");
    }
    await makeJanus(path.resolve(positionals[0]), values.size);
  });
}
