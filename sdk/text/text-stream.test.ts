import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { TextStream, type TextStreamOptions } from "./text-stream.js";
import { Tokenizer } from "./tokenizer.js";

const FIXTURE = new URL("../../test/fixtures/text/tokenizer-json.json", import.meta.url);

let tokenizer: Tokenizer;

beforeAll(async () => {
  const { variants } = JSON.parse(readFileSync(FIXTURE, "utf8")) as {
    variants: Record<string, { tokenizer: Record<string, unknown> }>;
  };
  tokenizer = await Tokenizer.fromFiles({ file: "t", tokenizer: variants["byte level"]!.tokenizer });
});

function run(text: string, options: TextStreamOptions, size = 1) {
  const ids = tokenizer.encode(text, { addSpecialTokens: false });
  const stream = new TextStream(tokenizer, options);
  const chunks: string[] = [];
  let stopString: string | undefined;
  for (let at = 0; at < ids.length; at += size) {
    const delta = stream.push(ids.slice(at, at + size));
    chunks.push(delta.text);
    stopString ??= delta.stopString;
    if (delta.stopped) break;
  }
  const last = stream.flush();
  chunks.push(last.text);
  return { text: chunks.join(""), chunks, stopString: stopString ?? last.stopString, kept: stream.kept, ids, stream };
}

describe("TextStream", () => {
  it("passes text through and keeps all tokens without a stop string", () => {
    const { text, kept, ids, stopString } = run("Grüße 👩‍🚀🇯🇵 漢字 한국어", {});
    expect(text).toBe("Grüße 👩‍🚀🇯🇵 漢字 한국어");
    expect(kept).toEqual({ count: ids.length, exact: true });
    expect(stopString).toBeUndefined();
  });

  it.each([
    ["<<END>>", "alpha"],
    ["a<<", "alph"],
    ["END", "alpha<<"],
  ])("nothing of %j is delivered, streamed or not", (stop, kept) => {
    for (const size of [1, 2, 100]) {
      expect(run("alpha<<END>>beta", { stops: [stop] }, size)).toMatchObject({ text: kept, stopString: stop });
      expect(run("alpha<<END>>beta", { stops: [stop], includeStopString: true }, size).text).toBe(kept + stop);
    }
  });

  it("delivers held-back text at the end", () => {
    expect(run("alpha<<EN", { stops: ["<<END>>"] }).text).toBe("alpha<<EN");
  });

  it("counts the tokens of the kept text: fewest that contain it, exact where the cut is between tokens", () => {
    const text = "The quick 漢字 fox 🙂🙂 jumps over the lazy dog";
    for (let at = 1; at < text.length - 3; at++) {
      const stop = text.slice(at, at + 3);
      if (text.indexOf(stop) !== at || /\p{Surrogate}/u.test(stop)) continue;
      for (const size of [1, 3, 100]) {
        const { kept, ids, text: delivered } = run(text, { stops: [stop] }, size);
        expect(delivered).toBe(text.slice(0, at));
        const lengths = ids.map((_, index) => tokenizer.decode(ids.slice(0, index + 1)));
        const fewest = lengths.findIndex((part) => part.startsWith(delivered)) + 1;
        expect(kept.count).toBe(fewest);
        expect(kept.exact).toBe(lengths[fewest - 1] === delivered);
      }
    }
  });

  it("keeps no token where the text begins with the stop string", () => {
    const { kept, stream, text } = run("END of it", { stops: ["END"] }, 100);
    expect(text).toBe("");
    expect(kept).toEqual({ count: 0, exact: true });
    expect(stream.push(tokenizer.encode("more"))).toEqual({ text: "", stopped: true });
  });

  it("does not look at tokens behind a stop string", () => {
    const { stream, ids } = run("a.b.c.d", { stops: ["."] }, 100);
    expect(stream.tokens).toBeLessThan(ids.length);
    expect(tokenizer.decode(ids.slice(0, stream.tokens))).toMatch(/^a\./);
  });

  it("gives up an unfinished character at the end only", () => {
    const ids = tokenizer.encode("a\u{10FFFD}", { addSpecialTokens: false });
    const broken = ids.slice(0, -1);
    const stream = new TextStream(tokenizer, {});
    const chunks = broken.map((id) => stream.push([id]).text);
    expect(chunks.join("")).toBe("a");
    expect(stream.flush().text).toMatch(/^\uFFFD+$/);
    expect(stream.kept.count).toBe(broken.length);
  });
});
