import { UnsupportedError } from "../../core/errors.js";
import type { GgufFile } from "./gguf-file.js";

/** What the runtime's GGUF front end (OpenVINO 2026.4) makes of a model, beyond converting it. */
interface GgufSupport {
  /** Tokens up to which answers are those of the reference implementation; 0 = as many as the model has. */
  contextLimit: number;
  /** Why the model needs its keys and values in its state; empty where paged attention computes the same. */
  statefulReason: string;
  /** For `explain()`. */
  notes: string[];
}

/** Tensor types the front end reads. Integers are left to it: they occur in tables, not in weights. */
const READABLE = new Set(
  "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K MXFP4 I8 I16 I32 I64".split(" "),
);

/** The front end converts these, but the graph it makes is not the model: checked against transformers. */
const WRONG: ReadonlyMap<string, string> = new Map([
  ["exaone4", "OpenVINO's reader puts its norms in front of attention and MLP instead of behind them"],
]);

/** The front end names these too; no reference has been compared with them. */
const UNCHECKED = new Set(["gemma4", "qwen35", "qwen35moe"]);

/**
 * Checks a GGUF model against what is known about the runtime's front end. Models of architectures that are not listed here are
 * left to the front end, which refuses what it does not know.
 *
 * @throws UnsupportedError naming the tensor type or the architecture
 */
export function checkGgufSupport(gguf: GgufFile): GgufSupport {
  const { metadata } = gguf;
  const architecture = metadata.string("general.architecture") ?? "";
  refuse(gguf, architecture);
  const support: GgufSupport = { contextLimit: 0, statefulReason: "", notes: [] };
  const contextLength = metadata.number(`${architecture}.context_length`) ?? 0;
  const window = windowOf(gguf, architecture);
  if (window > 0 && (contextLength === 0 || window < contextLength)) {
    if (architecture === "phi3") {
      support.notes.push(
        `The model's attention window of ${window} tokens is not applied: beyond it answers use all tokens, as in llama.cpp.`,
      );
    } else {
      support.statefulReason = `paged attention does not know the attention window of ${window} tokens that some layers of ${architecture} have`;
    }
  }
  if (gguf.tensors.some(({ name }) => name === "rope_factors_short.weight")) {
    const original = metadata.number(`${architecture}.rope.scaling.original_context_length`) ?? 0;
    if (original > 0 && original < contextLength) {
      support.contextLimit = original;
      support.notes.push(
        `The context is limited to ${original} of ${contextLength} tokens: the rotations for longer contexts (LongRoPE) are not supported yet.`,
      );
    }
  }
  if (UNCHECKED.has(architecture)) {
    support.notes.push(`The architecture ${architecture} has not been compared with a reference implementation.`);
  }
  return support;
}

function refuse(gguf: GgufFile, architecture: string): void {
  const wrong = WRONG.get(architecture);
  if (wrong !== undefined) {
    throw new UnsupportedError(
      `${gguf.files[0]!}: the architecture "${architecture}" is not supported as GGUF, because ${wrong}. Use an OpenVINO IR export of the model.`,
      { subject: architecture },
    );
  }
  const unreadable = gguf.tensors.find(({ typeName }) => !READABLE.has(typeName));
  if (unreadable) {
    throw new UnsupportedError(
      `${gguf.files[unreadable.file]!}: tensor "${unreadable.name}" has the type ${unreadable.typeName}, which OpenVINO's GGUF reader cannot read. ` +
        `Use a file with the types ${[...READABLE].filter((name) => !name.startsWith("I")).join(", ")}, or an OpenVINO IR export of the model.`,
      { subject: unreadable.typeName },
    );
  }
}

function windowOf({ metadata }: GgufFile, architecture: string): number {
  return metadata.number(`${architecture}.attention.sliding_window`) ?? 0;
}
