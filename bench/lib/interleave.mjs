import { setTimeout as sleep } from "node:timers/promises";

/** Lets caches, clocks and threads of the engine that ran before come to rest. */
const PAUSE_MS = 150;

/**
 * Measures several contestants in turn, round by round (A B C, B C A, ...), so that what the machine does meanwhile meets all of
 * them alike. Round 0 is a warm-up and is left out.
 *
 * @template Sample
 * @param {object} options
 * @param {string[]} options.ids
 * @param {number} options.rounds
 * @param {(round: number) => unknown} options.prepare makes what all contestants of a round are given
 * @param {(id: string, given: any) => Promise<Sample>} options.measure
 * @param {(text: string) => void} options.say
 * @returns {Promise<Record<string, Sample[]>>}
 */
export async function interleave({ ids, rounds, prepare, measure, say }) {
  const samples = Object.fromEntries(ids.map((id) => [id, []]));
  for (let round = 0; round <= rounds; round++) {
    const given = prepare(round);
    for (let place = 0; place < ids.length; place++) {
      const id = ids[(place + round) % ids.length];
      say(`${round === 0 ? "warm-up" : `round ${round} of ${rounds}`}: ${id}`);
      await sleep(PAUSE_MS);
      const sample = await measure(id, given);
      if (round > 0) samples[id].push(sample);
    }
  }
  return samples;
}
