import { parentPort, workerData } from "node:worker_threads";
import { ModelError, UnsupportedError } from "../../../core/errors.js";
import type { Checkpoint } from "../models/common/architecture.js";
import { architectureNamed } from "../models/architectures.js";
import { conversionKey } from "./conversion.js";
import { convertFolder } from "./convert-folder.js";
import type { WeightPlan } from "../ir/weights.js";

/** A conversion to make. */
export interface ConversionRequest {
  checkpoint: Checkpoint;
  plan: WeightPlan;
  /** The folder to make. */
  target: string;
  /** Leaves a complete conversion alone that another process has put there meanwhile. */
  keepOther: boolean;
}

/** The SDK's errors, in a form that passes between threads. */
interface PackedError {
  code: "model" | "unsupported" | "other";
  message: string;
  stack: string | undefined;
  /** Of a ModelError: the file. Of an UnsupportedError: the subject. */
  about: string;
}

export type WorkerMessage =
  | { type: "started" }
  | { type: "progress"; fraction: number }
  | { type: "done"; files: string[] }
  | { type: "failed"; error: PackedError };

/** Steps in which progress is told: a large model has tens of thousands of pieces. */
const PROGRESS_STEP = 0.002;

/** @throws whatever a conversion throws */
export async function convertHere(
  { checkpoint, plan, target, keepOther }: ConversionRequest,
  control: { signal?: AbortSignal | undefined; onProgress?: ((fraction: number) => void) | undefined },
): Promise<string[]> {
  const architecture = architectureNamed(checkpoint.architecture);
  const key = await conversionKey(checkpoint, plan);
  return convertFolder(target, key, () => architecture.prepare(checkpoint, plan), { ...control, keepOther });
}

function packError(error: unknown): PackedError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (ModelError.isInstance(error)) return { code: "model", message, stack, about: error.file };
  if (UnsupportedError.isInstance(error)) return { code: "unsupported", message, stack, about: error.subject };
  return { code: "other", message, stack, about: "" };
}

export function unpackError({ code, message, stack, about }: PackedError): Error {
  const error =
    code === "model"
      ? new ModelError(message, { file: about })
      : code === "unsupported"
        ? new UnsupportedError(message, { subject: about })
        : new Error(message);
  if (stack !== undefined) error.stack = stack;
  return error;
}

// Runs in a worker thread only. The only message that comes in means: stop.
if (parentPort && isRequest(workerData)) {
  const port = parentPort;
  const tell = (message: WorkerMessage): void => port.postMessage(message);
  const controller = new AbortController();
  port.on("message", () => controller.abort());
  tell({ type: "started" });
  let told = 0;
  const onProgress = (fraction: number): void => {
    if (fraction < 1 && fraction - told < PROGRESS_STEP) return;
    told = fraction;
    tell({ type: "progress", fraction });
  };
  convertHere(workerData, { signal: controller.signal, onProgress })
    .then(
      (files) => tell({ type: "done", files }),
      (error: unknown) => tell({ type: "failed", error: packError(error) }),
    )
    .finally(() => port.close());
}

/** Test runners have worker threads of their own, in which this file may be imported. */
function isRequest(value: unknown): value is ConversionRequest {
  return typeof value === "object" && value !== null && "checkpoint" in value && "target" in value;
}
