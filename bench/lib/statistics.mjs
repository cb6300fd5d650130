export function median(values) {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Compares samples that were taken in turn: the median of the ratios of each round. A machine that slows down for a while slows
 * both samples of a round, so their ratio holds where a ratio of medians would drift.
 *
 * @returns {{ ratio: number, low: number, high: number }} `low` and `high` are the smallest and the largest ratio
 */
export function pairedRatio(ours, theirs) {
  const ratios = ours.map((value, round) => value / theirs[round]);
  return { ratio: median(ratios), low: Math.min(...ratios), high: Math.max(...ratios) };
}

/** Slope of the least-squares line through points `[x, y]`. */
export function slope(points) {
  const centerX = mean(points.map(([x]) => x));
  const centerY = mean(points.map(([, y]) => y));
  const over = points.reduce((sum, [x, y]) => sum + (x - centerX) * (y - centerY), 0);
  return over / points.reduce((sum, [x]) => sum + (x - centerX) ** 2, 0);
}
