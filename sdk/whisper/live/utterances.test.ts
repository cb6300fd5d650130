import { describe, expect, it } from "vitest";
import { babble, joined, silence } from "../../testing/whisper-fixture.js";
import { UtteranceCutter, type Utterance } from "./utterances.js";

const PIECE = 1600;

/** Hands audio over in tenths of a second and gives what it was cut into. */
function cut(audio: Float32Array, pause = 0.5): { ended: Utterance[]; cutter: UtteranceCutter } {
  const cutter = new UtteranceCutter(pause);
  const ended: Utterance[] = [];
  for (let at = 0; at < audio.length; at += PIECE) ended.push(...cutter.push(audio.subarray(at, at + PIECE)));
  return { ended, cutter };
}

describe("UtteranceCutter", () => {
  it("cuts at pauses, with a little of them before and behind", () => {
    const { ended, cutter } = cut(joined(silence(2), babble(3), silence(2), babble(1), silence(1)));
    expect(ended).toHaveLength(2);
    const [first, second] = ended;
    expect(first!.start).toBeGreaterThan(1.4);
    expect(first!.start).toBeLessThan(2);
    expect(first!.start + first!.seconds).toBeGreaterThan(5);
    expect(first!.start + first!.seconds).toBeLessThan(5.6);
    expect(second!.start).toBeGreaterThan(6.4);
    expect(second!.start + second!.seconds).toBeLessThan(8.6);
    expect(cutter.current).toBeUndefined();
    expect(cutter.seconds).toBeCloseTo(9);
  });

  it("has the samples of its stretch of the stream", () => {
    const audio = joined(silence(1), babble(2), silence(1));
    const [utterance] = cut(audio).ended;
    const from = Math.round(utterance!.start * 16_000);
    const samples = utterance!.samples();
    expect(samples).toHaveLength(Math.round(utterance!.seconds * 16_000));
    expect(samples).toEqual(audio.slice(from, from + samples.length));
  });

  it("a pause that is shorter than asked for does not end it", () => {
    const audio = joined(babble(2), silence(0.7), babble(2), silence(2));
    expect(cut(audio, 0.5).ended).toHaveLength(2);
    expect(cut(audio, 1).ended).toHaveLength(1);
  });

  it("is cut where it is weakest before it is longer than a window, and nothing is lost", () => {
    const weak = Float32Array.from(babble(0.3), (sample) => sample * 0.05);
    const audio = joined(babble(24), weak, babble(15), silence(2));
    const { ended } = cut(audio);
    expect(ended).toHaveLength(2);
    const [first, second] = ended;
    expect(first!.seconds).toBeLessThanOrEqual(30);
    const border = first!.start + first!.seconds;
    expect(border).toBeGreaterThan(23.9);
    expect(border).toBeLessThan(24.5);
    expect(second!.start).toBeCloseTo(border, 5);
    expect(second!.start + second!.seconds).toBeGreaterThan(39.2);
    const heard = joined(first!.samples(), second!.samples());
    const from = Math.round(first!.start * 16_000);
    expect(heard).toEqual(audio.slice(from, from + heard.length));
  });

  it("does not hear clicks and silence", () => {
    const click = babble(0.03, 0.9);
    expect(cut(joined(silence(1), click, silence(1), click, silence(1))).ended).toEqual([]);
  });

  it("the end of the audio ends what is being said", () => {
    const { ended, cutter } = cut(joined(silence(1), babble(2)));
    expect(ended).toEqual([]);
    expect(cutter.current!.seconds).toBeGreaterThan(2);
    expect(cutter.finish()).toMatchObject({ ended: true });
    expect(cutter.finish()).toBeUndefined();
  });

  it("the end of the audio keeps its last samples, though they fill no step", () => {
    const cutter = new UtteranceCutter(0.5);
    const audio = babble(2.019);
    cutter.push(audio);
    const last = cutter.finish()!;
    expect(last.samples()).toHaveLength(audio.length);
    expect(last.samples().at(-1)).toBe(audio.at(-1));
    expect(last.seconds).toBeCloseTo(2.019, 6);
  });

  it("keeps no more than an utterance, however long the stream", () => {
    const cutter = new UtteranceCutter(0.5);
    const minute = joined(babble(20), silence(10), babble(29), silence(1));
    let longest = 0;
    for (let round = 0; round < 30; round++) {
      for (let at = 0; at < minute.length; at += 8000) {
        for (const { seconds } of cutter.push(minute.subarray(at, at + 8000))) longest = Math.max(longest, seconds);
        longest = Math.max(longest, cutter.current?.seconds ?? 0);
      }
    }
    expect(cutter.seconds).toBeCloseTo(1800);
    expect(longest).toBeLessThanOrEqual(30);
  });
});
