import { milliseconds } from "../lib/rows.mjs";
import { median } from "../lib/statistics.mjs";

const PROMPT_TOKENS = 42;
const REQUESTS = 8;

/** What JavaScript costs: time of `stream()` beyond the engine's own, and how late timers come while it generates. */
export async function javascriptRows({ contestants, prompts, rounds, tokens, say }) {
  const child = await contestants.get("gguf:pergola");
  const streams = [];
  for (let round = 0; round <= rounds; round++) {
    say(`stream() ${round} of ${rounds}`);
    const sample = await child.ask({ command: "generate", prompt: prompts.next(PROMPT_TOKENS), tokens: tokens * 2 });
    if (round > 0) streams.push(sample);
  }
  const loops = { 1: [], [REQUESTS]: [] };
  for (let round = 1; round <= Math.max(2, Math.ceil(rounds / 2)); round++) {
    for (const count of [1, REQUESTS]) {
      say(`event loop, ${count} at once`);
      loops[count].push(
        await child.ask({ command: "watchLoop", prompts: prompts.several(count, PROMPT_TOKENS), tokens: tokens * 2 }),
      );
    }
  }
  const ratios = streams.map(({ totalMs, engineMs }) => totalMs / engineMs);
  const loopRow = (count) => {
    const values = loops[count].map(({ p99Ms }) => p99Ms);
    return {
      group: "JavaScript",
      title: `Event-loop delay, 99th percentile, ${count} at once`,
      ours: milliseconds(median(values)),
      value: median(values),
      unit: "ms",
      range: [Math.min(...values), Math.max(...values)],
      target: { atMost: 10 },
    };
  };
  return {
    samples: { streams: streams.map(({ totalMs, engineMs }) => ({ totalMs, engineMs })), loops },
    rows: [
      {
        group: "JavaScript",
        title: "Wall time of stream() / engine's own loop",
        ours: milliseconds(median(streams.map(({ totalMs }) => totalMs))),
        theirs: milliseconds(median(streams.map(({ engineMs }) => engineMs))),
        value: median(ratios),
        range: [Math.min(...ratios), Math.max(...ratios)],
        target: { atMost: 1.02 },
      },
      loopRow(1),
      loopRow(REQUESTS),
    ],
  };
}
