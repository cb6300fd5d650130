import { ModelError, UnsupportedError } from "../../../../core/errors.js";
import { CTranslate2Source } from "../../read/ctranslate2.js";
import type { ElementType } from "../../read/element-type.js";
import { type TensorInfo, type TensorSource, rowsOf } from "../../read/tensor-source.js";
import { toFloat32 } from "../../read/floats.js";

/** A tensor under its Hugging Face name: some rows of a variable. */
interface View extends TensorInfo {
  variable: string;
  firstRow: number;
  /** For int8: what a row's values are divided by. */
  scales?: Float32Array;
}

/** Sizes that only the weights of a CTranslate2 model tell. */
interface CTranslate2WhisperFacts {
  encoderLayers: number;
  decoderLayers: number;
  encoderHeads: number;
  decoderHeads: number;
}

/** Values that the specification may state, and what Whisper has. */
const EXPECTED: [name: string, value: number][] = [
  ["encoder/scale_embeddings", 0],
  ["decoder/scale_embeddings", 0],
  ["decoder/pre_norm", 1],
  ["decoder/alibi", 0],
  ["decoder/activation", 3],
];

/**
 * The tensors of a CTranslate2 Whisper model under the names of the Hugging Face checkpoint. CTranslate2 keeps query, key and
 * value projections in one matrix; here they are separate again. int8 weights are given back as f32.
 */
export class CTranslate2WhisperSource implements TensorSource {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, View>;
  readonly facts: CTranslate2WhisperFacts;
  readonly #variables: CTranslate2Source;

  private constructor(variables: CTranslate2Source, tensors: Map<string, View>, facts: CTranslate2WhisperFacts) {
    this.path = variables.path;
    this.#variables = variables;
    this.tensors = tensors;
    this.facts = facts;
  }

  /**
   * @throws ModelError if the file is damaged, or not a Whisper model
   * @throws UnsupportedError for specifications that are not known
   */
  static async open(path: string): Promise<CTranslate2WhisperSource> {
    const variables = await CTranslate2Source.open(path);
    try {
      if (variables.specification !== "WhisperSpec") {
        throw new ModelError(
          `${path} holds a CTranslate2 model of another kind (${variables.specification}), not Whisper.`,
          {
            file: path,
          },
        );
      }
      await checkScalars(variables);
      const { tensors, layers } = await new Mapping(variables).build();
      const facts = {
        ...{ encoderLayers: layers.encoder, decoderLayers: layers.decoder },
        encoderHeads: await heads(variables, "encoder"),
        decoderHeads: await heads(variables, "decoder"),
      };
      return new CTranslate2WhisperSource(variables, tensors, facts);
    } catch (error) {
      await variables.close();
      throw error;
    }
  }

  async read(name: string, firstRow: number, rowCount: number): Promise<Uint8Array> {
    const view = this.tensors.get(name)!;
    const first = view.firstRow + firstRow;
    const bytes = await this.#variables.read(view.variable, first, rowCount);
    if (!view.scales) return bytes;
    const { rowLength } = rowsOf(view.shape);
    const stored = new Int8Array(bytes.buffer);
    const values = new Float32Array(stored.length);
    for (let row = 0, index = 0; row < rowCount; row++) {
      const scale = view.scales[first + row]!;
      for (const end = index + rowLength; index < end; index++) values[index] = stored[index]! / scale;
    }
    return new Uint8Array(values.buffer);
  }

  async close(): Promise<void> {
    await this.#variables.close();
  }
}

async function checkScalars(variables: CTranslate2Source): Promise<void> {
  for (const [name, wanted] of EXPECTED) {
    const value = await variables.scalar(name);
    if (value === undefined || value === wanted) continue;
    throw new UnsupportedError(`${variables.path}: "${name}" is ${value}; for Whisper only ${wanted} is known.`, {
      subject: name,
    });
  }
  const projection = variables.aliases.get("decoder/projection/weight");
  if (projection !== undefined && projection !== "decoder/embeddings/weight") {
    throw new UnsupportedError(`${variables.path}: the output projection is not the embedding.`, {
      subject: "untied projection",
    });
  }
}

async function heads(variables: CTranslate2Source, side: string): Promise<number> {
  const count = await variables.scalar(`${side}/num_heads`);
  if (count !== undefined && Number.isInteger(count) && count > 0) return count;
  throw new ModelError(
    `${variables.path} does not tell the number of attention heads (${side}/num_heads); convert the model again.`,
    {
      file: variables.path,
    },
  );
}

/** Gives every variable its Hugging Face names, and makes sure that none is left over. */
class Mapping {
  readonly #source: CTranslate2Source;
  readonly #left: Set<string>;
  readonly #tensors = new Map<string, View>();

  constructor(source: CTranslate2Source) {
    this.#source = source;
    this.#left = new Set([...source.tensors.values()].filter(({ shape }) => shape.length > 0).map(({ name }) => name));
  }

  async build(): Promise<{ tensors: Map<string, View>; layers: { encoder: number; decoder: number } }> {
    const layers = { encoder: this.#countLayers("encoder"), decoder: this.#countLayers("decoder") };
    for (const side of ["encoder", "decoder"] as const) {
      this.#plain(`${side}/position_encodings/encodings`, `model.${side}.embed_positions.weight`);
      this.#norm(`${side}/layer_norm`, `model.${side}.layer_norm`);
      for (let layer = 0; layer < layers[side]; layer++) await this.#layer(side, layer);
    }
    for (const convolution of ["conv1", "conv2"]) {
      for (const part of ["weight", "bias"])
        this.#plain(`encoder/${convolution}/${part}`, `model.encoder.${convolution}.${part}`);
    }
    await this.#matrix("decoder/embeddings", ["model.decoder.embed_tokens"]);
    if (this.#left.size > 0) {
      const names = [...this.#left].sort();
      const shown = `${names.slice(0, 4).join(", ")}${names.length > 4 ? `, and ${names.length - 4} more` : ""}`;
      throw new UnsupportedError(`${this.#source.path} holds variables that Whisper does not have: ${shown}.`, {
        subject: names[0]!,
      });
    }
    return { tensors: this.#tensors, layers };
  }

  async #layer(side: "encoder" | "decoder", layer: number): Promise<void> {
    const [from, to] = [`${side}/layer_${layer}`, `model.${side}.layers.${layer}`];
    this.#norm(`${from}/self_attention/layer_norm`, `${to}.self_attn_layer_norm`);
    await this.#linear(
      `${from}/self_attention/linear_0`,
      ["q_proj", "k_proj", "v_proj"].map((part) => `${to}.self_attn.${part}`),
    );
    await this.#linear(`${from}/self_attention/linear_1`, [`${to}.self_attn.out_proj`]);
    if (side === "decoder") {
      this.#norm(`${from}/attention/layer_norm`, `${to}.encoder_attn_layer_norm`);
      await this.#linear(`${from}/attention/linear_0`, [`${to}.encoder_attn.q_proj`]);
      await this.#linear(
        `${from}/attention/linear_1`,
        ["k_proj", "v_proj"].map((part) => `${to}.encoder_attn.${part}`),
      );
      await this.#linear(`${from}/attention/linear_2`, [`${to}.encoder_attn.out_proj`]);
    }
    this.#norm(`${from}/ffn/layer_norm`, `${to}.final_layer_norm`);
    await this.#linear(`${from}/ffn/linear_0`, [`${to}.fc1`]);
    await this.#linear(`${from}/ffn/linear_1`, [`${to}.fc2`]);
  }

  #countLayers(side: string): number {
    let count = 0;
    const names = [...this.#left];
    while (names.some((name) => name.startsWith(`${side}/layer_${count}/`))) count++;
    return count;
  }

  #take(name: string): TensorInfo {
    const variable = this.#source.tensors.get(name);
    if (!variable) {
      throw new ModelError(`${this.#source.path} has no variable "${name}": it is no complete Whisper model.`, {
        file: this.#source.path,
      });
    }
    this.#left.delete(name);
    return variable;
  }

  #plain(from: string, to: string): void {
    const { shape, type, file } = this.#take(from);
    this.#tensors.set(to, { name: to, shape, type, file, variable: from, firstRow: 0 });
  }

  #norm(from: string, to: string): void {
    this.#plain(`${from}/gamma`, `${to}.weight`);
    this.#plain(`${from}/beta`, `${to}.bias`);
  }

  async #linear(from: string, targets: string[]): Promise<void> {
    await this.#matrix(from, targets);
    const { shape } = this.#take(`${from}/bias`);
    for (const [name, view] of this.#split(`${from}/bias`, shape, targets, "bias")) {
      // Whisper's keys have no bias; CTranslate2 fills its place with zeros.
      if (name.endsWith("k_proj.bias")) await this.#requireZeros(view);
      else this.#tensors.set(name, view);
    }
  }

  async #matrix(from: string, targets: string[]): Promise<void> {
    const variable = `${from}/weight`;
    const { shape, type } = this.#take(variable);
    const scales = await this.#scales(variable, type, shape[0] ?? 0);
    for (const [name, view] of this.#split(variable, shape, targets, "weight")) {
      this.#tensors.set(name, scales ? { ...view, type: "f32", scales } : view);
    }
  }

  async #scales(variable: string, type: ElementType, rows: number): Promise<Float32Array | undefined> {
    const name = `${variable}_scale`;
    if (type === "f32" || type === "f16" || type === "bf16") return undefined;
    if (type !== "i8") {
      throw new UnsupportedError(
        `${this.#source.path}: "${variable}" is quantized to ${type}; float and int8 models can be converted.`,
        { subject: `tensor type ${type}` },
      );
    }
    const scale = this.#take(name);
    if (scale.type !== "f32" || scale.shape.length !== 1 || scale.shape[0] !== rows) {
      throw new UnsupportedError(
        `${this.#source.path}: "${name}" is not one f32 a row; such int8 weights are not known.`,
        {
          subject: "int8 weights",
        },
      );
    }
    const scales = toFloat32(await this.#source.read(name, 0, rows), "f32");
    if (scales.some((value) => !(value > 0 && Number.isFinite(value)))) {
      throw new ModelError(`${this.#source.path}: "${name}" holds values that cannot be scales; the file is damaged.`, {
        file: this.#source.path,
      });
    }
    return scales;
  }

  #split(variable: string, shape: readonly number[], targets: string[], part: string): [string, View][] {
    const { file, type } = this.#source.tensors.get(variable)!;
    const rows = (shape[0] ?? 0) / targets.length;
    if (!Number.isInteger(rows)) {
      throw new ModelError(
        `${file}: "${variable}" has ${shape[0]} rows, which do not make ${targets.length} equal parts.`,
        { file },
      );
    }
    return targets.map((target, index) => {
      const name = `${target}.${part}`;
      return [name, { name, shape: [rows, ...shape.slice(1)], type, file, variable, firstRow: index * rows }];
    });
  }

  async #requireZeros({ variable, firstRow, shape }: View): Promise<void> {
    const bytes = await this.#source.read(variable, firstRow, shape[0]!);
    if (bytes.every((byte) => byte === 0)) return;
    throw new UnsupportedError(
      `${this.#source.path}: "${variable}" has biases for keys, which Whisper does not have.`,
      {
        subject: "key bias",
      },
    );
  }
}
