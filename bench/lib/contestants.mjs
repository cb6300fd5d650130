import { demoModel } from "../../scripts/lib/models.mjs";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { Child } from "./child.mjs";
import { irFolder, pergolaCache, python } from "./peers.mjs";

/** What Pergola sets by default, for peers that are to compute the same way. */
export const EXACT = {
  INFERENCE_PRECISION_HINT: "f32",
  DYNAMIC_QUANTIZATION_GROUP_SIZE: "0",
  KV_CACHE_PRECISION: "f32",
};
const BF16 = { INFERENCE_PRECISION_HINT: "bf16", KV_CACHE_PRECISION: "bf16" };
/** What OpenVINO chooses by itself, and so openvino_genai, on CPUs with AVX512_BF16 and VNNI. */
const FAST = { INFERENCE_PRECISION_HINT: "bf16", DYNAMIC_QUANTIZATION_GROUP_SIZE: "32", KV_CACHE_PRECISION: "u8" };

const pergola = (label, options = {}) => ({ engine: "pergola", label: `Pergola, ${label}`, request: { options } });
const genai = (label, request = {}) => ({ engine: "genai", label: `openvino_genai, ${label}`, request });

/** Ways of running the model. `file` is the GGUF file or the IR folder; both stand for the same weights. */
const KINDS = {
  pergola: pergola("defaults"),
  "pergola-int8": pergola("weights int8", { weights: "int8" }),
  "pergola-bf16": pergola("bf16", { properties: BF16 }),
  "pergola-fast": pergola("bf16, activations int8, KV u8", { properties: FAST }),
  "pergola-int8-bf16": pergola("weights int8, bf16", { weights: "int8", properties: BF16 }),
  "pergola-int8-fast": pergola("weights int8, bf16, activations int8, KV u8", { weights: "int8", properties: FAST }),
  genai: genai("defaults"),
  "genai-exact": genai("f32 as Pergola", { properties: EXACT }),
  "genai-batching": genai("continuous batching", { kind: "batching" }),
  "genai-batching-exact": genai("continuous batching, f32 as Pergola", { kind: "batching", properties: EXACT }),
  "node-llama-cpp": { engine: "node-llama-cpp", label: "node-llama-cpp", request: {} },
};

/** What a way of running needs of the CPU, by the names of OpenVINO's capabilities. */
const needsOf = ({ request }) => (/bf16/.test(JSON.stringify(request)) ? ["BF16"] : []);

let capabilities;

/**
 * Leaves out the ways of running that this CPU cannot do, with a line for each.
 *
 * @param {string[]} kinds - names of {@link KINDS}
 */
export async function possibleHere(kinds) {
  // Needs the build, which set-up makes.
  const { listDevices } = await import("../../dist/index.js");
  capabilities ??= (await listDevices()).find(({ name }) => name === "CPU").capabilities;
  return kinds.filter((kind) => {
    const lacks = needsOf(KINDS[kind]).filter((name) => !capabilities.includes(name));
    if (lacks.length > 0) leaveOut(kind, `this CPU has no ${lacks.join(", ").toLowerCase()}`);
    return lacks.length === 0;
  });
}

const told = new Set();

function leaveOut(kind, why) {
  if (!told.has(kind)) process.stderr.write(`Left out: ${KINDS[kind].label} (${why})\n`);
  told.add(kind);
}

export const FORMATS = { gguf: demoModel, ir: irFolder };

/** @returns {{ id: string, engine: string, label: string, request: object }} for `gguf:pergola`, `ir:genai`, ... */
export function contestant(id) {
  const [format, kind] = id.split(":");
  if (!Object.hasOwn(FORMATS, format) || !Object.hasOwn(KINDS, kind)) throw new Error(`There is no contestant ${id}.`);
  const { engine, label, request } = KINDS[kind];
  const own = engine === "pergola" ? { options: { ...request.options, cache: pergolaCache } } : request;
  return { id, engine, label, request: { command: "open", model: FORMATS[format], ...own } };
}

function start(engine) {
  if (engine === "genai") return new Child(python, [inRoot("bench", "workers", "genai.py")]);
  // With `gc`, memory can be measured without what is only waiting to be collected.
  return new Child(process.execPath, ["--expose-gc", inRoot("bench", "workers", `${engine}.mjs`)]);
}

/** Starts a contestant in a fresh process; `changes` go over what it is opened with. */
export async function openContestant(id, changes = {}) {
  const { engine, request } = contestant(id);
  const child = start(engine);
  const options = { ...request.options, ...changes.options };
  try {
    const opened = await child.ask({ ...request, ...changes, ...(request.options ? { options } : {}) });
    return { child, opened };
  } catch (error) {
    await child.close();
    throw new Error(`${id} could not be opened: ${error.message}`, { cause: error });
  }
}

/** Contestants that stay open over several rows; idle ones cost memory only. */
export class Contestants {
  #open = new Map();

  /** The process of a contestant, started when first asked for. */
  async get(id) {
    if (!this.#open.has(id)) this.#open.set(id, await openContestant(id));
    return this.#open.get(id).child;
  }

  async opened(id) {
    await this.get(id);
    return this.#open.get(id).opened;
  }

  async closeAll() {
    const open = [...this.#open.values()];
    this.#open.clear();
    await Promise.all(open.map(({ child }) => child.close()));
  }
}
