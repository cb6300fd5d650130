import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";

/** Larger than any cache, so that every pass reads from memory. */
const BYTES_PER_THREAD = 256 * 1024 * 1024;
const PASSES = 4;

/**
 * A search for a byte that is not there is one `memchr` over the buffer: it reads everything once, with vector
 * instructions, and does nothing else.
 */
const WORKER_SOURCE = `
const { parentPort, workerData } = require("node:worker_threads");
const buffer = Buffer.alloc(workerData.bytes, 1);
buffer.indexOf(2);
parentPort.postMessage("ready");
parentPort.once("message", () => {
  for (let pass = 0; pass < workerData.passes; pass++) buffer.indexOf(2);
  parentPort.postMessage("done");
  parentPort.close();
});
`;

function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
}

/**
 * Measures how fast all cores together read memory, in bytes a second. Takes about a second.
 * Decoding one token reads every weight once, so bytes of weights divided by this is a floor for the time of a token.
 */
export async function measureReadBandwidth(threads = availableParallelism()): Promise<number> {
  const workerData = { bytes: BYTES_PER_THREAD, passes: PASSES };
  const workers = Array.from({ length: threads }, () => new Worker(WORKER_SOURCE, { eval: true, workerData }));
  try {
    await Promise.all(workers.map(nextMessage));
    const started = performance.now();
    const done = workers.map(nextMessage);
    for (const worker of workers) worker.postMessage("start");
    await Promise.all(done);
    return (threads * PASSES * BYTES_PER_THREAD) / ((performance.now() - started) / 1000);
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}
