/** What distinguishes the two published sizes of Janus-Pro; everything else is the same. */
const SIZES = {
  "1b": { width: 2048, inner: 5632, layers: 24, heads: 16 },
  "7b": { width: 4096, inner: 11_008, layers: 30, heads: 32 },
};
export const SIZE_NAMES = Object.keys(SIZES);

const VOCABULARY = 102_400;
const VISION = { width: 1024, layers: 24, heads: 16, imageSize: 384, patch: 16 };
const GRID = VISION.imageSize / VISION.patch;
const CODEBOOK = { entries: 16_384, dimension: 8 };
const VQ = { base: 128, latent: 256, multipliers: [1, 1, 2, 2, 4], blocks: 2 };

/** Ids of Janus-Pro-1B's tokens with a meaning of their own. */
export const SPECIAL_TOKENS = {
  "<｜begin▁of▁sentence｜>": 100_000,
  "<｜end▁of▁sentence｜>": 100_001,
  "<｜▁pad▁｜>": 100_002,
  "<begin_of_image>": 100_003,
  "<image_placeholder>": 100_581,
  "<patch_placeholder>": 100_582,
  "<|ref|>": 100_583,
  "<|/ref|>": 100_584,
  "<|det|>": 100_585,
  "<|/det|>": 100_586,
  "<|grounding|>": 100_587,
  "<|User|>": 100_588,
  "<|Assistant|>": 100_589,
  "<end_of_image>": 100_593,
};

/** Gathers names and shapes; the methods stand for layers. */
class Layers {
  shapes = new Map();

  matrix(name, rows, columns) {
    this.shapes.set(`${name}.weight`, [rows, columns]);
  }

  linear(name, outputs, inputs) {
    this.matrix(name, outputs, inputs);
    this.shapes.set(`${name}.bias`, [outputs]);
  }

  scale(name, size) {
    this.shapes.set(`${name}.weight`, [size]);
  }

  norm(name, size) {
    this.scale(name, size);
    this.shapes.set(`${name}.bias`, [size]);
  }

  convolution(name, outputs, inputs, kernel) {
    this.shapes.set(`${name}.weight`, [outputs, inputs, kernel, kernel]);
    this.shapes.set(`${name}.bias`, [outputs]);
  }

  residual(name, inputs, outputs) {
    this.norm(`${name}.norm1`, inputs);
    this.convolution(`${name}.conv1`, outputs, inputs, 3);
    this.norm(`${name}.norm2`, outputs);
    this.convolution(`${name}.conv2`, outputs, outputs, 3);
    if (inputs !== outputs) this.convolution(`${name}.nin_shortcut`, outputs, inputs, 1);
  }

  attention(name, channels) {
    this.norm(`${name}.norm`, channels);
    for (const part of ["q", "k", "v", "proj_out"]) this.convolution(`${name}.${part}`, channels, channels, 1);
  }

  middle(name, channels) {
    this.residual(`${name}.block_1`, channels, channels);
    this.attention(`${name}.attn_1`, channels);
    this.residual(`${name}.block_2`, channels, channels);
  }
}

function languageModel(layers, { width, inner, layers: count }) {
  layers.matrix("lm_head", VOCABULARY, width);
  layers.matrix("model.language_model.embed_tokens", VOCABULARY, width);
  for (let index = 0; index < count; index++) {
    const name = `model.language_model.layers.${index}`;
    for (const part of ["q", "k", "v", "o"]) layers.matrix(`${name}.self_attn.${part}_proj`, width, width);
    layers.matrix(`${name}.mlp.gate_proj`, inner, width);
    layers.matrix(`${name}.mlp.up_proj`, inner, width);
    layers.matrix(`${name}.mlp.down_proj`, width, inner);
    layers.scale(`${name}.input_layernorm`, width);
    layers.scale(`${name}.post_attention_layernorm`, width);
  }
  layers.scale("model.language_model.norm", width);
}

function visionTower(layers, { width: outer }) {
  const { width, layers: count, patch } = VISION;
  const tower = "model.vision_model";
  layers.convolution(`${tower}.embeddings.patch_embedding`, width, 3, patch);
  layers.matrix(`${tower}.embeddings.position_embedding`, GRID ** 2, width);
  for (let index = 0; index < count; index++) {
    const name = `${tower}.encoder.layers.${index}`;
    layers.norm(`${name}.layer_norm1`, width);
    layers.norm(`${name}.layer_norm2`, width);
    for (const part of ["q_proj", "k_proj", "v_proj", "projection_layer"]) {
      layers.linear(`${name}.self_attn.${part}`, width, width);
    }
    layers.linear(`${name}.mlp.fc1`, 4 * width, width);
    layers.linear(`${name}.mlp.fc2`, width, 4 * width);
  }
  layers.norm(`${tower}.post_layernorm`, width);
  layers.linear("model.aligner.fc1", outer, width);
  layers.linear("model.aligner.hidden_layers.0", outer, outer);
}

function generationParts(layers, { width }) {
  const { entries, dimension } = CODEBOOK;
  layers.matrix("model.generation_embeddings", entries, dimension);
  layers.linear("model.generation_aligner.fc1", width, dimension);
  layers.linear("model.generation_aligner.hidden_layers.0", width, width);
  layers.linear("model.generation_head.proj_out", width, width);
  layers.linear("model.generation_head.vision_head", entries, width);
}

function quantizer(layers) {
  const { base, latent, multipliers, blocks } = VQ;
  const { entries, dimension } = CODEBOOK;
  const last = multipliers.length - 1;
  const widest = base * multipliers[last];
  const model = "model.vqmodel";
  layers.matrix(`${model}.quantize.embedding`, entries, dimension);
  layers.convolution(`${model}.quant_conv`, dimension, latent, 1);
  layers.convolution(`${model}.post_quant_conv`, latent, dimension, 1);

  const encoder = `${model}.encoder`;
  layers.convolution(`${encoder}.conv_in`, base, 3, 3);
  let channels = base;
  multipliers.forEach((multiplier, level) => {
    const name = `${encoder}.down.${level}`;
    for (let block = 0; block < blocks; block++) {
      layers.residual(`${name}.block.${block}`, channels, base * multiplier);
      channels = base * multiplier;
      if (level === last) layers.attention(`${name}.attn.${block}`, channels);
    }
    if (level !== last) layers.convolution(`${name}.downsample.conv`, channels, channels, 3);
  });
  layers.middle(`${encoder}.mid`, widest);
  layers.norm(`${encoder}.norm_out`, widest);
  layers.convolution(`${encoder}.conv_out`, latent, widest, 3);

  const decoder = `${model}.decoder`;
  layers.convolution(`${decoder}.conv_in`, widest, latent, 3);
  layers.middle(`${decoder}.mid`, widest);
  channels = widest;
  // In the order they are run: the lowest resolution first.
  [...multipliers].reverse().forEach((multiplier, index) => {
    const name = `${decoder}.up.${index}`;
    for (let block = 0; block <= blocks; block++) {
      layers.residual(`${name}.block.${block}`, channels, base * multiplier);
      channels = base * multiplier;
      if (index === 0) layers.attention(`${name}.attn.${block}`, channels);
    }
    if (index !== last) layers.convolution(`${name}.upsample.conv`, channels, channels, 3);
  });
  layers.norm(`${decoder}.norm_out`, base);
  layers.convolution(`${decoder}.conv_out`, 3, base, 3);
}

/** Names and shapes of a Janus-Pro checkpoint in transformers' layout: 964 tensors, 2,076,636,811 values for `1b`. */
export function janusShapes(size) {
  const layers = new Layers();
  languageModel(layers, SIZES[size]);
  visionTower(layers, SIZES[size]);
  generationParts(layers, SIZES[size]);
  quantizer(layers);
  return layers.shapes;
}

/** Its configuration files, by name. */
export function janusConfiguration(size) {
  const { width, inner, layers, heads } = SIZES[size];
  const [bos, eos, pad, begin] = Object.values(SPECIAL_TOKENS);
  const text = {
    model_type: "llama",
    vocab_size: VOCABULARY,
    hidden_size: width,
    intermediate_size: inner,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: width / heads,
    hidden_act: "silu",
    attention_bias: false,
    mlp_bias: false,
    max_position_embeddings: 16_384,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    rope_scaling: null,
    bos_token_id: bos,
    eos_token_id: eos,
    pad_token_id: pad,
  };
  const vision = {
    model_type: "janus_vision_model",
    hidden_size: VISION.width,
    num_hidden_layers: VISION.layers,
    num_attention_heads: VISION.heads,
    image_size: VISION.imageSize,
    patch_size: VISION.patch,
    num_image_tokens: GRID ** 2,
    num_channels: 3,
    mlp_ratio: 4,
    hidden_act: "gelu",
    attention_bias: true,
    layer_norm_eps: 1e-6,
    use_qk_norm: false,
    depth: 2,
    projection_dim: width,
  };
  const vq = {
    model_type: "janus_vqgan",
    embed_dim: CODEBOOK.dimension,
    num_embeddings: CODEBOOK.entries,
    base_channels: VQ.base,
    channel_multiplier: VQ.multipliers,
    num_res_blocks: VQ.blocks,
    latent_channels: VQ.latent,
    double_latent: false,
    in_channels: 3,
    out_channels: 3,
    num_patches: GRID,
    hidden_act: "gelu",
    num_hidden_layers: 2,
    projection_dim: width,
    image_token_embed_dim: width,
  };
  return {
    "config.json": {
      architectures: ["JanusForConditionalGeneration"],
      model_type: "janus",
      dtype: "bfloat16",
      image_token_id: SPECIAL_TOKENS["<image_placeholder>"],
      text_config: text,
      vision_config: vision,
      vq_config: vq,
    },
    "generation_config.json": {
      bos_token_id: bos,
      eos_token_id: eos,
      pad_token_id: pad,
      generation_kwargs: { boi_token_id: begin },
      guidance_scale: 5,
    },
    "processor_config.json": { processor_class: "JanusProcessor", use_default_system_prompt: true },
    "preprocessor_config.json": {
      image_processor_type: "JanusImageProcessor",
      processor_class: "JanusProcessor",
      do_resize: true,
      size: { height: VISION.imageSize, width: VISION.imageSize },
      min_size: 14,
      resample: 3,
      do_pad: true,
      do_rescale: true,
      rescale_factor: 1 / 255,
      do_normalize: true,
      image_mean: [0.5, 0.5, 0.5],
      image_std: [0.5, 0.5, 0.5],
    },
  };
}
