/**
 * Runs work that Ctrl-C may end. The first SIGINT calls `onFirst`, a second one leaves at once.
 * SIGTERM is left to its default: it ends the process.
 */
export async function interruptible<Value>(work: () => Promise<Value>, onFirst: () => void): Promise<Value> {
  let count = 0;
  const onSignal = (): void => {
    count++;
    if (count === 1) onFirst();
    else process.exit(130);
  };
  process.on("SIGINT", onSignal);
  try {
    return await work();
  } finally {
    process.off("SIGINT", onSignal);
  }
}
