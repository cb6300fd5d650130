import { describe, expect, it } from "vitest";
import { OptionError } from "../core/errors.js";
import { StopStringMatcher, type StopStringOptions } from "./stop-strings.js";

function run(pieces: string[], stops: string[], options?: StopStringOptions) {
  const matcher = new StopStringMatcher(stops, options);
  const deltas: string[] = [];
  let stopString: string | undefined;
  for (const piece of pieces) {
    const result = matcher.push(piece);
    deltas.push(result.text);
    stopString ??= result.stopString;
  }
  deltas.push(matcher.flush());
  return { text: deltas.join(""), stopString, stopped: matcher.stopped, deltas };
}

/** What the whole text says: the stop string complete first, the longest of those that end together. */
function expected(text: string, stops: string[]): { text: string; stopString: string | undefined } {
  for (let end = 1; end <= text.length; end++) {
    const found = stops.filter((stop) => text.slice(0, end).endsWith(stop)).sort((a, b) => b.length - a.length)[0];
    if (found !== undefined) return { text: text.slice(0, end - found.length), stopString: found };
  }
  return { text, stopString: undefined };
}

describe("StopStringMatcher", () => {
  it.each([
    ["<<END>>", "alpha"],
    ["a<<", "alph"],
    ["END", "alpha<<"],
  ])("cuts at %j wherever the pieces are cut", (stop, kept) => {
    const text = "alpha<<END>>beta";
    for (let size = 1; size <= text.length; size++) {
      const pieces = text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
      expect(run(pieces, [stop])).toMatchObject({ text: kept, stopString: stop, stopped: true });
      expect(run(pieces, [stop], { includeStopString: true }).text).toBe(kept + stop);
    }
  });

  it("delivers what was held back when it does not complete", () => {
    const { text, stopped, deltas } = run(["one <", "<E", "N", "d <<EN"], ["<<END>>"]);
    expect(text).toBe("one <<ENd <<EN");
    expect(stopped).toBe(false);
    expect(deltas).toEqual(["one ", "", "", "<<ENd ", "<<EN"]);
  });

  it("holds back only what may become a stop string", () => {
    expect(run(["aab", "x"], ["aaab"]).deltas).toEqual(["aab", "x", ""]);
    expect(run(["aaa", "ab"], ["aaab"]).deltas).toEqual(["", "a", ""]);
  });

  it("takes the stop string that is complete first, of equals the longest", () => {
    expect(run(["abcd"], ["abcd", "bc"])).toMatchObject({ text: "a", stopString: "bc" });
    expect(run(["xabc"], ["bc", "abc", "c"])).toMatchObject({ text: "x", stopString: "abc" });
    expect(run(["xabc"], ["abcd", "b"])).toMatchObject({ text: "xa", stopString: "b" });
  });

  it("is silent after the end and drops the rest", () => {
    const matcher = new StopStringMatcher(["."]);
    expect(matcher.push("a.b")).toEqual({ text: "a", stopped: true, stopString: "." });
    expect(matcher.push("c.")).toEqual({ text: "", stopped: true });
    expect(matcher.flush()).toBe("");
  });

  it("passes text through without stop strings and refuses empty ones", () => {
    expect(run(["a", "", "b"], []).deltas).toEqual(["a", "", "b", ""]);
    expect(() => new StopStringMatcher(["x", ""])).toThrow(OptionError);
    expect(() => new StopStringMatcher(["x", ""])).toThrow(/stop\[1\] is empty/);
  });

  it("agrees with a search in the whole text on random texts, stops and cuts", () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48271) % 2147483647) % below;
    const word = (length: number): string => Array.from({ length }, () => "ab🙂c"[random(3)]).join("");
    for (let round = 0; round < 2000; round++) {
      const stops = Array.from({ length: 1 + random(4) }, () => word(1 + random(6)));
      const text = word(random(40));
      const pieces: string[] = [];
      for (let at = 0; at < text.length;) {
        const size = 1 + random(5);
        pieces.push(text.slice(at, at + size));
        at += size;
      }
      const { text: kept, stopString } = run(pieces, stops);
      expect({ text: kept, stopString }).toEqual(expected(text, stops));
    }
  });

  it("does not look back over long stop strings", () => {
    const stop = "a".repeat(50_000) + "b";
    const matcher = new StopStringMatcher([stop]);
    let delivered = "";
    for (let count = 0; count < 2000; count++) delivered += matcher.push("a".repeat(100)).text;
    expect(delivered.length).toBe(200_000 - 50_000);
    expect(matcher.push("b").stopped).toBe(true);
  });
});
