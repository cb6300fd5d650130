import { ModelError } from "../../../core/errors.js";
import { elementCount, showShape, type ElementType } from "./element-type.js";

/** A tensor of a checkpoint, without its values. */
export interface TensorInfo {
  readonly name: string;
  /** Empty for a scalar. */
  readonly shape: readonly number[];
  readonly type: ElementType;
  /** The file that holds it. */
  readonly file: string;
}

/**
 * The tensors of a checkpoint. Values are read in pieces: nobody ever holds a whole file, and big tensors are not held
 * whole either.
 */
export interface TensorSource {
  /** The folder or file, for messages. */
  readonly path: string;
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  /**
   * Reads rows of the first axis (a scalar is one row).
   *
   * @returns little-endian values in the tensor's own type, in a buffer of their own
   * @throws ModelError if the file cannot be read (any more)
   */
  read(name: string, firstRow: number, rowCount: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** Rows along the first axis, and elements of each. */
export function rowsOf(shape: readonly number[]): { rows: number; rowLength: number } {
  return { rows: shape[0] ?? 1, rowLength: elementCount(shape.slice(1)) };
}

/**
 * Finds a tensor and checks its shape.
 *
 * @throws ModelError naming what is missing or does not fit
 */
export function requireTensor(source: TensorSource, name: string, shape: readonly number[]): TensorInfo {
  const tensor = source.tensors.get(name);
  if (!tensor) {
    throw new ModelError(
      `${source.path} has no tensor "${name}": the checkpoint is not complete, or not of the kind its config.json says.`,
      { file: source.path },
    );
  }
  if (tensor.shape.length !== shape.length || tensor.shape.some((size, axis) => size !== shape[axis])) {
    throw new ModelError(
      `${tensor.file}: tensor "${name}" has the shape ${showShape(tensor.shape)}, ` +
        `but config.json asks for ${showShape(shape)}. The files do not belong together.`,
      { file: tensor.file },
    );
  }
  return tensor;
}
