import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ModelError } from "../../../../core/errors.js";
import { janusFixture } from "../../../../testing/janus-fixture.js";
import { bytesOf, elementCount } from "../../read/element-type.js";
import { hasOriginalNames, OriginalJanusSource } from "./janus-original.js";
import { SafetensorsSource } from "../../read/safetensors.js";
import type { TensorInfo, TensorSource } from "../../read/tensor-source.js";

/** transformers' names, each with the original one. From transformers' own conversion, read backwards. */
const RENAMES: [RegExp, string][] = [
  [/^lm_head\./, "language_model.lm_head."],
  [/^model\.language_model\./, "language_model.model."],
  [/^model\.(generation_)?aligner\.fc1\./, "$1aligner.layers.0."],
  [/^model\.(generation_)?aligner\.hidden_layers\.0\./, "$1aligner.layers.2."],
  [/^generation_aligner\./, "gen_aligner."],
  [/^model\.generation_embeddings\./, "gen_embed."],
  [/^model\.generation_head\.proj_out\./, "gen_head.output_mlp_projector."],
  [/^model\.generation_head\./, "gen_head."],
  [/^model\.vqmodel\./, "gen_vision_model."],
  [/\.encoder\.down\.(\d)\.block\./, ".encoder.conv_blocks.$1.res."],
  [/\.decoder\.up\.(\d)\.block\./, ".decoder.conv_blocks.$1.res."],
  [/\.encoder\.down\./, ".encoder.conv_blocks."],
  [/\.decoder\.up\./, ".decoder.conv_blocks."],
  [/\.mid\.block_1\./, ".mid.0."],
  [/\.mid\.attn_1\./, ".mid.1."],
  [/\.mid\.block_2\./, ".mid.2."],
  [/^model\.vision_model\.embeddings\.patch_embedding\./, "vision_model.vision_tower.patch_embed.proj."],
  [/^model\.vision_model\.embeddings\.position_embedding\.weight$/, "vision_model.vision_tower.pos_embed"],
  [/^model\.vision_model\.post_layernorm\./, "vision_model.vision_tower.norm."],
  [/^model\.vision_model\.encoder\.layers\./, "vision_model.vision_tower.blocks."],
  [/\.self_attn\.projection_layer\./, ".attn.proj."],
  [/\.layer_norm(\d)\./, ".norm$1."],
];

let plain: SafetensorsSource;
beforeAll(async () => void (plain = await SafetensorsSource.open(janusFixture("tiny"))));
afterAll(() => plain.close());

/** The tiny checkpoint as the original program would have saved it. */
async function original(): Promise<TensorSource> {
  const values = new Map<string, { info: TensorInfo; bytes: Uint8Array }>();
  const add = (info: TensorInfo, bytes: Uint8Array): void => void values.set(info.name, { info, bytes });
  for (const info of plain.tensors.values()) {
    if (/vision_model.*[kv]_proj/.test(info.name)) continue;
    const read = async (name: string): Promise<Uint8Array> =>
      plain.read(name, 0, plain.tensors.get(name)!.shape[0] ?? 1);
    let name = info.name;
    for (const [from, to] of RENAMES) name = name.replace(from, to);
    if (/vision_model.*q_proj/.test(info.name)) {
      const parts = await Promise.all(["q", "k", "v"].map((part) => read(info.name.replace("q_proj", `${part}_proj`))));
      const shape = [3 * info.shape[0]!, ...info.shape.slice(1)];
      add({ ...info, name: name.replace("self_attn.q_proj", "attn.qkv"), shape }, Buffer.concat(parts));
    } else {
      const shape = name.endsWith("pos_embed") ? [1, ...info.shape] : info.shape;
      add({ ...info, name, shape }, await read(info.name));
    }
  }
  const extra = { type: "f32", file: "x", shape: [1] } as const;
  add({ ...extra, name: "vision_model.vision_tower.attn_pool.latent" }, new Uint8Array(4));
  add({ ...extra, name: "gen_vision_model.quantize.codebook_used" }, new Uint8Array(4));
  return {
    path: "original",
    tensors: new Map([...values].map(([name, { info }]) => [name, info])),
    read: (name, firstRow, rowCount) => {
      const { info, bytes } = values.get(name)!;
      const rowBytes = elementCount(info.shape.slice(1)) * bytesOf(info.type);
      return Promise.resolve(Uint8Array.from(bytes.subarray(firstRow * rowBytes, (firstRow + rowCount) * rowBytes)));
    },
    close: () => Promise.resolve(),
  };
}

describe("the original layout", () => {
  it("is told by its names", async () => {
    expect(hasOriginalNames(plain)).toBe(false);
    expect(hasOriginalNames(await original())).toBe(true);
  });

  it("has the same tensors under transformers' names, and no others", async () => {
    const source = new OriginalJanusSource(await original());
    expect([...source.tensors.keys()].sort()).toEqual([...plain.tensors.keys()].sort());
    for (const { name, shape, type } of plain.tensors.values()) {
      expect(source.tensors.get(name), name).toMatchObject({ name, shape, type });
      const [first, count] = (shape[0] ?? 1) > 3 ? [1, 2] : [0, shape[0] ?? 1];
      const wanted = Buffer.from(await plain.read(name, first, count));
      expect(Buffer.from(await source.read(name, first, count)).equals(wanted), name).toBe(true);
    }
  });

  it("refuses joined projections that are no three", async () => {
    const from = await original();
    const name = "vision_model.vision_tower.blocks.0.attn.qkv.weight";
    const tensors = new Map(from.tensors).set(name, { ...from.tensors.get(name)!, shape: [95, 32] });
    const make = (): unknown => new OriginalJanusSource({ ...from, tensors });
    expect(make).toThrow(ModelError);
    expect(make).toThrow(/qkv\.weight.*\[95, 32\] cannot be cut/);
  });
});
