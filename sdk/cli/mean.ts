/** The mean of each figure. */
export function meanOf<Run extends object>(runs: readonly Run[]): Run {
  const names = Object.keys(runs[0]!) as (keyof Run & string)[];
  const mean = (name: keyof Run): number =>
    runs.reduce((sum, run) => sum + (run[name] as unknown as number), 0) / runs.length;
  return Object.fromEntries(names.map((name) => [name, mean(name)])) as unknown as Run;
}
