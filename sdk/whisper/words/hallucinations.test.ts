import { describe, expect, it } from "vitest";
import { findHallucinations } from "./hallucinations.js";
import type { DraftSegment } from "./segment-words.js";

const PLACE = { start: 30, end: 60, fullEnd: 60, lastSpeech: 29, audioEnd: 100 };

/** A segment of words of equal length. */
function segment(start: number, end: number, probability: number, count = 4): DraftSegment {
  const length = (end - start) / count;
  const words = Array.from({ length: count }, (_, index) => ({
    word: " w",
    start: start + index * length,
    end: start + (index + 1) * length,
    probability,
  }));
  return { start, end, ids: [], text: " w w", words };
}

const sound = (start: number, end: number): DraftSegment => segment(start, end, 0.9);
/** Words that nobody could have said. */
const strange = (start: number, end: number): DraftSegment => segment(start, end, 0.05);

describe("findHallucinations", () => {
  it("keeps what sounds like speech, also next to silence", () => {
    expect(findHallucinations([sound(45, 47), sound(50, 52)], PLACE, 2)).toEqual({ kept: 2 });
  });

  it("leaves silence in front of a strange first segment out and hears the rest again", () => {
    expect(findHallucinations([strange(40, 42), sound(50, 52)], PLACE, 2)).toEqual({ kept: 0, resumeAt: 40 });
  });

  it("drops a strange segment between silences and goes on where it began", () => {
    const segments = [sound(30, 33), strange(40, 42), sound(50, 52)];
    expect(findHallucinations(segments, PLACE, 2)).toEqual({ kept: 1, resumeAt: 40 });
  });

  it("keeps a strange segment in the middle of speech", () => {
    const segments = [sound(30, 39.5), strange(40, 42), sound(42.5, 52)];
    expect(findHallucinations(segments, PLACE, 2)).toEqual({ kept: 3 });
  });

  it("takes two strange segments in a row for silence after the first", () => {
    const segments = [sound(30, 33), strange(40, 42), strange(42.2, 44)];
    expect(findHallucinations(segments, PLACE, 2)).toEqual({ kept: 1, resumeAt: 40 });
  });

  it("ends the audio after a strange segment near its end", () => {
    const place = { ...PLACE, audioEnd: 60 };
    expect(findHallucinations([sound(30, 33), strange(57, 59)], place, 2)).toEqual({ kept: 1, resumeAt: 60 });
  });

  it("judges by length too: words too short or too long", () => {
    expect(findHallucinations([sound(30, 33), segment(40, 40.1, 0.9, 10)], PLACE, 2).kept).toBe(1);
    expect(findHallucinations([sound(30, 33), segment(40, 52, 0.9)], PLACE, 2).kept).toBe(1);
    expect(findHallucinations([sound(30, 33), segment(40, 41, 0.9)], PLACE, 2).kept).toBe(2);
  });
});
