/**
 * Cuts a row of `count` things into runs so that the sum of the runs' costs is least.
 *
 * @param runsFrom - for a run that begins at `first`: the possible ends (exclusive, growing) with the cost of each; at least one
 * @returns the runs, in order
 */
export function partition(
  count: number,
  runsFrom: (first: number) => Iterable<{ end: number; cost: number }>,
): { first: number; end: number }[] {
  // Backwards, so that the cost of everything behind a run is known.
  const best: { cost: number; end: number }[] = Array.from({ length: count + 1 }, () => ({ cost: Infinity, end: 0 }));
  best[count] = { cost: 0, end: count };
  for (let first = count - 1; first >= 0; first--) {
    for (const { end, cost } of runsFrom(first)) {
      const whole = cost + best[end]!.cost;
      if (whole < best[first]!.cost) best[first] = { cost: whole, end };
    }
  }
  const runs: { first: number; end: number }[] = [];
  for (let first = 0; first < count; first = best[first]!.end) runs.push({ first, end: best[first]!.end });
  return runs;
}
