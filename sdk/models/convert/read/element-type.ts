/** Types of tensor elements, by their OpenVINO names. */
export type ElementType = "f32" | "f16" | "bf16" | "i4" | "i8" | "u8" | "i16" | "i32" | "i64" | "boolean";

const BYTES: Record<ElementType, number> = {
  ...{ f32: 4, f16: 2, bf16: 2 },
  ...{ i4: 0.5, i8: 1, u8: 1, i16: 2, i32: 4, i64: 8, boolean: 1 },
};

/** Bytes of one element; half a byte for `i4`. */
export function bytesOf(type: ElementType): number {
  return BYTES[type];
}

/** Number of elements of a tensor; 1 for a scalar. */
export function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/** True for types that hold weights as they are, without a scale. */
export function isFloat(type: ElementType): type is "f32" | "f16" | "bf16" {
  return type === "f32" || type === "f16" || type === "bf16";
}

/** A shape as messages show it, for example `[384, 80, 3]`. */
export function showShape(shape: readonly (number | string)[]): string {
  return `[${shape.join(", ")}]`;
}
