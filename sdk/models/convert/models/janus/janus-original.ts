import { ModelError } from "../../../../core/errors.js";
import { elementCount, showShape } from "../../read/element-type.js";
import type { TensorInfo, TensorSource } from "../../read/tensor-source.js";

/** A tensor under its new name: the original one, or some rows of it. */
interface Renamed {
  tensor: TensorInfo;
  original: string;
  firstRow: number;
}

/**
 * A Janus checkpoint in the original layout (deepseek-ai), with the names and shapes of transformers': joined projections are
 * cut into three, and tensors that transformers has no use for are left out.
 */
export class OriginalJanusSource implements TensorSource {
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly #source: TensorSource;
  readonly #renamed = new Map<string, Renamed>();

  /** @param source - closed with this one @throws ModelError where a joined projection cannot be cut */
  constructor(source: TensorSource) {
    this.path = source.path;
    this.#source = source;
    for (const tensor of source.tensors.values()) this.#take(tensor);
    this.tensors = new Map([...this.#renamed].map(([name, { tensor }]) => [name, tensor]));
  }

  read(name: string, firstRow: number, rowCount: number): Promise<Uint8Array> {
    const { original, firstRow: start, tensor } = this.#renamed.get(name)!;
    // Positions have a first axis of length 1 there, so all of them are one row.
    if (this.#source.tensors.get(original)!.shape.length === tensor.shape.length) {
      return this.#source.read(original, start + firstRow, rowCount);
    }
    return this.#readPart(original, tensor, firstRow, rowCount);
  }

  async #readPart(original: string, { shape }: TensorInfo, firstRow: number, rowCount: number): Promise<Uint8Array> {
    const all = await this.#source.read(original, 0, 1);
    const rowBytes = all.length / shape[0]!;
    return all.slice(firstRow * rowBytes, (firstRow + rowCount) * rowBytes);
  }

  close(): Promise<void> {
    return this.#source.close();
  }

  #take(tensor: TensorInfo): void {
    const joined = /^vision_model\.vision_tower\.blocks\.(\d+)\.attn\.qkv\.(weight|bias)$/.exec(tensor.name);
    if (joined) {
      this.#cut(tensor, `model.vision_model.encoder.layers.${joined[1]}.self_attn`, joined[2]!);
      return;
    }
    const name = transformersName(tensor.name);
    if (name === undefined) return;
    const flat = tensor.name.endsWith("pos_embed") && tensor.shape[0] === 1;
    const shape = flat ? tensor.shape.slice(1) : tensor.shape;
    this.#renamed.set(name, { tensor: { ...tensor, name, shape }, original: tensor.name, firstRow: 0 });
  }

  #cut(tensor: TensorInfo, layer: string, kind: string): void {
    const rows = (tensor.shape[0] ?? 0) / 3;
    if (!Number.isInteger(rows) || elementCount(tensor.shape) === 0) {
      throw new ModelError(
        `${tensor.file}: tensor "${tensor.name}" with the shape ${showShape(tensor.shape)} cannot be cut into three projections.`,
        { file: tensor.file },
      );
    }
    ["q_proj", "k_proj", "v_proj"].forEach((projection, index) => {
      const name = `${layer}.${projection}.${kind}`;
      const part = { ...tensor, name, shape: [rows, ...tensor.shape.slice(1)] };
      this.#renamed.set(name, { tensor: part, original: tensor.name, firstRow: index * rows });
    });
  }
}

/** True for names as the original layout has them. */
export function hasOriginalNames(source: TensorSource): boolean {
  return source.tensors.has("language_model.model.embed_tokens.weight");
}

const MIDDLE = ["block_1", "attn_1", "block_2"];

/** Beginnings of names, each with what takes its place. */
const PREFIXES: readonly (readonly [from: string, to: string])[] = [
  ["language_model.lm_head.", "lm_head."],
  ["language_model.model.", "model.language_model."],
  ["aligner.", "model.aligner."],
  ["gen_aligner.", "model.generation_aligner."],
  ["gen_embed.", "model.generation_embeddings."],
  ["gen_head.output_mlp_projector.", "model.generation_head.proj_out."],
  ["gen_head.", "model.generation_head."],
  ["gen_vision_model.", "model.vqmodel."],
  ["vision_model.vision_tower.", "model.vision_model."],
];

/** Undefined for tensors that are left out. */
function transformersName(name: string): string | undefined {
  if (/\.attn_pool\.|\.codebook_used$/.test(name)) return undefined;
  const found = PREFIXES.find(([from]) => name.startsWith(from));
  if (!found) return undefined;
  const renamed = found[1] + name.slice(found[0].length);
  if (renamed.startsWith("model.vqmodel.")) return autoencoderName(renamed);
  if (renamed.startsWith("model.vision_model.")) return towerName(renamed);
  // Between the linear layers stand GELUs, which count there.
  return renamed.replace(/aligner\.layers\.(\d+)\./, (_, place: string) => {
    const layer = Number(place) / 2;
    return layer === 0 ? "aligner.fc1." : `aligner.hidden_layers.${layer - 1}.`;
  });
}

function autoencoderName(name: string): string {
  return name
    .replace(".encoder.conv_blocks.", ".encoder.down.")
    .replace(".decoder.conv_blocks.", ".decoder.up.")
    .replace(/\.(down|up)\.(\d+)\.res\./, ".$1.$2.block.")
    .replace(/\.mid\.(\d)\./, (_, place: string) => `.mid.${MIDDLE[Number(place)] ?? place}.`);
}

function towerName(name: string): string {
  return name
    .replace("model.patch_embed.proj.", "model.embeddings.patch_embedding.")
    .replace(/model\.pos_embed$/, "model.embeddings.position_embedding.weight")
    .replace(/model\.norm\./, "model.post_layernorm.")
    .replace(/\.blocks\.(\d+)\.norm(\d)\./, ".blocks.$1.layer_norm$2.")
    .replace(".attn.proj.", ".self_attn.projection_layer.")
    .replace(".blocks.", ".encoder.layers.");
}
