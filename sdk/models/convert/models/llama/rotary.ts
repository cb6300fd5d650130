import { ModelError, UnsupportedError } from "../../../../core/errors.js";

type Json = Record<string, unknown>;

/** Rotary position embedding. */
export interface RotaryEmbedding {
  /** Radians a position, one for each pair of values; rounded to f32. Pairs beyond them do not turn. */
  frequencies: Float32Array;
  /** Factor of cosine and sine; 1 for most. */
  scale: number;
}

/** What the frequencies depend on besides the configuration's own fields. */
interface RotarySizes {
  headSize: number;
  /** `max_position_embeddings`. */
  contextLength: number;
  /** `rope_theta` where the configuration does not tell. */
  base: number;
}

/** A rotary embedding, and how many positions it is good for. */
interface LimitedRotary {
  rope: RotaryEmbedding;
  /** At most `contextLength`: variants that switch frequencies for longer texts end where the switch would be. */
  contextLength: number;
}

/**
 * Computes the frequencies of a configuration's rotary embedding, by the formulas of Hugging Face transformers
 * (`modeling_rope_utils.py`). Fields are found in all places where versions of that library have put them.
 *
 * @param file - the configuration's path, for messages
 * @throws ModelError for missing or impossible values
 * @throws UnsupportedError for variants that are not known, naming them
 */
export function readRotary(config: Json, file: string, sizes: RotarySizes): LimitedRotary {
  const fields = new RotaryFields(config, file);
  const { headSize, contextLength } = sizes;
  const base = fields.number("rope_theta", sizes.base);
  const rotated = Math.floor(headSize * fields.number("partial_rotary_factor", 1));
  if (rotated < 2 || rotated > headSize || rotated % 2 !== 0) {
    fields.fail(`partial_rotary_factor makes ${rotated} of ${headSize} values turn; it must be an even number of them`);
  }
  const plain = Array.from({ length: rotated / 2 }, (_, pair) => base ** ((-2 * pair) / rotated));
  const made = (frequencies: number[], scale = 1, limit = contextLength): LimitedRotary => ({
    rope: { frequencies: Float32Array.from(frequencies), scale },
    contextLength: Math.min(limit, contextLength),
  });
  switch (fields.type) {
    case "default":
      return made(plain);
    case "linear": {
      const factor = fields.number("factor");
      return made(plain.map((frequency) => frequency / factor));
    }
    case "dynamic":
      // Frequencies change only beyond the length that the model was trained for.
      return made(plain, 1, fields.number("original_max_position_embeddings", contextLength));
    case "llama3":
      return made(llama3(plain, fields, contextLength));
    case "yarn":
      return yarn(plain, fields, { base, rotated, contextLength }, made);
    case "longrope":
    case "su": {
      const original = fields.number("original_max_position_embeddings", contextLength);
      const factor = fields.number("factor", contextLength / original);
      const attention = factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(original));
      const factors = fields.list("short_factor", plain.length);
      const frequencies = plain.map((frequency, pair) => frequency / factors[pair]!);
      return made(frequencies, fields.number("attention_factor", attention), original);
    }
    default:
      throw new UnsupportedError(
        `${file}: the rotary embedding "${fields.type}" is not known (default, linear, dynamic, llama3, yarn and longrope are).`,
        { subject: `rotary embedding ${fields.type}` },
      );
  }
}

/** Slow waves are stretched, fast ones are not, with a ramp between. */
function llama3(plain: readonly number[], fields: RotaryFields, contextLength: number): number[] {
  const [factor, low, high] = ["factor", "low_freq_factor", "high_freq_factor"].map((name) => fields.number(name));
  const original = fields.number("original_max_position_embeddings", contextLength);
  return plain.map((frequency) => {
    const turns = (original * frequency) / (2 * Math.PI);
    if (turns > high!) return frequency;
    if (turns < low!) return frequency / factor!;
    const smooth = (turns - low!) / (high! - low!);
    return ((1 - smooth) * frequency) / factor! + smooth * frequency;
  });
}

/** YaRN, arXiv 2309.00071. */
function yarn(
  plain: readonly number[],
  fields: RotaryFields,
  { base, rotated, contextLength }: { base: number; rotated: number; contextLength: number },
  made: (frequencies: number[], scale: number) => LimitedRotary,
): LimitedRotary {
  const original = fields.number("original_max_position_embeddings", contextLength);
  const factor = fields.number("factor", contextLength / original);
  const attention = (weight: number): number => (factor <= 1 ? 1 : 0.1 * weight * Math.log(factor) + 1);
  const [mscale, mscaleAll] = [fields.number("mscale", 0), fields.number("mscale_all_dim", 0)];
  const inferred = mscale !== 0 && mscaleAll !== 0 ? attention(mscale) / attention(mscaleAll) : attention(1);
  /** Index of the pair that turns so many times over the original length. */
  const pairOf = (turns: number): number =>
    (rotated * Math.log(original / (turns * 2 * Math.PI))) / (2 * Math.log(base));
  const rounded = !fields.isFalse("truncate");
  const [first, last] = [pairOf(fields.number("beta_fast", 32)), pairOf(fields.number("beta_slow", 1))];
  const low = Math.max(rounded ? Math.floor(first) : first, 0);
  const high = Math.min(rounded ? Math.ceil(last) : last, rotated - 1);
  const width = high === low ? 0.001 : high - low;
  const frequencies = plain.map((frequency, pair) => {
    const stretched = Math.min(1, Math.max(0, (pair - low) / width));
    return (frequency / factor) * stretched + frequency * (1 - stretched);
  });
  return made(frequencies, fields.number("attention_factor", inferred));
}

/** The fields about rotary embeddings, wherever they stand. */
class RotaryFields {
  readonly type: string;
  readonly #places: Json[];
  readonly #file: string;

  constructor(config: Json, file: string) {
    this.#file = file;
    const inner = config["rope_parameters"] ?? config["rope_scaling"] ?? {};
    if (typeof inner !== "object" || Array.isArray(inner)) this.fail("the fields of the rotary embedding are damaged");
    const own = inner as Json;
    const nested = Object.entries(own).find(
      ([, value]) => typeof value === "object" && value !== null && !Array.isArray(value),
    );
    if (nested) {
      throw new UnsupportedError(
        `${file}: rotary embeddings that differ between layers ("${nested[0]}") are not supported.`,
        {
          subject: "rotary embeddings by layer",
        },
      );
    }
    const type = own["rope_type"] ?? own["type"] ?? "default";
    this.type = typeof type === "string" ? type : JSON.stringify(type);
    this.#places = [own, config];
    // Phi-3 has this one outside; there it counts first.
    if (config["original_max_position_embeddings"] !== undefined) {
      this.#places.unshift({ original_max_position_embeddings: config["original_max_position_embeddings"] });
    }
  }

  /** @throws ModelError if there is no such number and no fallback */
  number(name: string, fallback?: number): number {
    const value = this.#find(name) ?? fallback;
    if (typeof value === "number" && Number.isFinite(value) && (value > 0 || value === fallback)) return value;
    return this.fail(
      `"${name}" of the rotary embedding "${this.type}" must be a positive number, found ${JSON.stringify(value)}`,
    );
  }

  list(name: string, length: number): number[] {
    const value = this.#find(name);
    const sound =
      Array.isArray(value) && value.every((entry) => typeof entry === "number" && Number.isFinite(entry) && entry > 0);
    if (sound && value.length === length) return value as number[];
    return this.fail(`"${name}" of the rotary embedding "${this.type}" must be a list of ${length} positive numbers`);
  }

  isFalse(name: string): boolean {
    return this.#find(name) === false;
  }

  fail(problem: string): never {
    throw new ModelError(`${this.#file}: ${problem}.`, { file: this.#file });
  }

  #find(name: string): unknown {
    return this.#places.map((place) => place[name]).find((value) => value !== undefined && value !== null);
  }
}
