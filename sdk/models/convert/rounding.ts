const LARGEST = 127;

/**
 * Rounds rows to int8, symmetric: each row has one scale, the largest magnitude is ±127, zero stays zero. A value is off by
 * half a scale at most.
 *
 * @param values - whole rows
 * @param scales - receives the scale of each row, from `firstRow` on
 */
export function roundRows(values: Float32Array, rowLength: number, scales: Float32Array, firstRow: number): Int8Array {
  const rounded = new Int8Array(values.length);
  for (let start = 0, row = firstRow; start < values.length; start += rowLength, row++) {
    const end = start + rowLength;
    let largest = 0;
    for (let index = start; index < end; index++) {
      const magnitude = Math.abs(values[index]!);
      if (magnitude > largest) largest = magnitude;
    }
    // Rounded to f32 first, so that values are divided by what they will be multiplied with. A row of zeros may have any scale.
    const scale = (scales[row] = largest === 0 ? 1 : largest / LARGEST);
    const inverse = 1 / Math.fround(scale);
    for (let index = start; index < end; index++) {
      const scaled = values[index]! * inverse;
      // Half away from zero; the clamp is for a scale that f32 rounded down.
      const whole = scaled < 0 ? -Math.floor(0.5 - scaled) : Math.floor(scaled + 0.5);
      rounded[index] = whole > LARGEST ? LARGEST : whole < -LARGEST ? -LARGEST : whole;
    }
  }
  return rounded;
}
