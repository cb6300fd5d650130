/** Time in a form that is easy to read: `0.3 s`, `41 s`, `2 min 5 s`. */
export function formatDuration(milliseconds) {
  const seconds = milliseconds / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/**
 * One line of progress: the title while the work runs, then how long it took.
 *
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @param {{ stream?: { write(text: string): unknown } }} [options]
 * @returns {Promise<T>}
 */
export async function step(title, work, { stream = process.stderr } = {}) {
  const started = performance.now();
  stream.write(`${title} ... `);
  try {
    const result = await work();
    stream.write(`${formatDuration(performance.now() - started)}\n`);
    return result;
  } catch (error) {
    stream.write("failed\n");
    throw error;
  }
}
