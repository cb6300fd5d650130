import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  NativeError,
  PipelineStream,
  RgbImage,
  type ImageResult,
  type ImageStep,
  type ImageStreamOptions,
} from "../index.js";
import { collectingTerminal, type CollectingTerminal } from "../testing/collecting-terminal.js";
import { Interrupted } from "./exit-codes.js";
import { imagine, StepProgress, toImageOptions, type ImageStream, type Painter } from "./imagine.js";
import { Interrupts } from "./interrupts.js";
import { PictureFiles } from "./picture-files.js";

const TOKENS = 8;
const picture = (): RgbImage => new RgbImage(1, 1, Uint8Array.of(1, 2, 3));

/** Makes pictures of eight tokens. */
class ScriptedPainter implements Painter {
  readonly calls: { prompt: string; options: ImageStreamOptions }[] = [];
  stopped = false;
  /** Called before each token. */
  beforeToken: (token: number) => unknown = () => undefined;

  stream(prompt: string, options: ImageStreamOptions): ImageStream {
    this.calls.push({ prompt, options });
    const { n = 1, seed = 0, previewEvery } = options;
    const stages = { tokenize: 0, preprocess: 0, encode: 0, prefill: 1, decode: 2, detokenize: 0, pictures: 3 };
    return PipelineStream.start<ImageStep, ImageResult>(async (control) => {
      control.onEnding(() => (this.stopped = true));
      let token = 0;
      while (token < TOKENS && !control.ending) {
        await setImmediate();
        await this.beforeToken(token + 1);
        if (control.ending) break;
        token++;
        const isDue = previewEvery !== undefined && token % previewEvery === 0;
        control.push({ token, of: TOKENS, ...(isDue && { previews: [picture()], previewToken: token }) });
      }
      return {
        images: Array.from({ length: n }, picture),
        tokens: Array.from({ length: n }, () => Array<number>(token).fill(1)),
        seeds: Array.from({ length: n }, (_, index) => seed + index),
        finishReason: "stop",
        complete: token >= TOKENS,
        metrics: { loadMs: 1, ttftMs: 2, tpotMs: 3, tokensPerSecond: 4, durationMs: 12_345, queueMs: 0, stages },
      };
    });
  }
}

let folder: string;
let terminal: CollectingTerminal;
let interrupts: Interrupts;
let painter: ScriptedPainter;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "pergola-imagine-"));
  terminal = collectingTerminal();
  interrupts = new Interrupts();
  painter = new ScriptedPainter();
});
afterEach(async () => {
  interrupts.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(options: ImageStreamOptions = {}, json = false): Promise<void> {
  const files = await PictureFiles.plan(path.join(folder, "bike.png"), "");
  await imagine("a bike", painter, { options, files, json }, terminal, interrupts);
}

describe("imagine", () => {
  it("writes the picture, prints its path, and tells the seed on stderr", async () => {
    await run({ seed: 7, guidance: 3 });
    expect(painter.calls).toEqual([{ prompt: "a bike", options: { seed: 7, guidance: 3 } }]);
    expect(terminal.printed()).toBe(`${path.join(folder, "bike.png")}\n`);
    expect(terminal.reported()).toBe("seed 7, 12.3 s\n");
    expect(await readdir(folder)).toEqual(["bike.png"]);
  });

  it("prints a path for each of several", async () => {
    await run({ n: 2, seed: 7 });
    expect(terminal.printed()).toBe(`${path.join(folder, "bike-1.png")}\n${path.join(folder, "bike-2.png")}\n`);
    expect(terminal.reported()).toBe("seeds 7 to 8, 12.3 s\n");
  });

  it("--json is exactly the result, with paths for the images", async () => {
    await run({ n: 2, seed: 1 }, true);
    const expected = await painter.stream("", { n: 2, seed: 1 }).result;
    const images = ["bike-1.png", "bike-2.png"].map((name) => path.join(folder, name));
    expect(JSON.parse(terminal.printed())).toEqual({ ...expected, images });
    expect(terminal.reported()).toBe("");
  });

  it("--previews are there while the picture is made, and not afterwards", async () => {
    const seen: string[][] = [];
    painter.beforeToken = async (token) => {
      // The reader writes the file while the script goes on.
      if (token > 4) await expect.poll(() => readdir(folder)).toContain("bike.preview.png");
      seen.push(await readdir(folder));
    };
    await run({ previewEvery: 4 });
    expect(seen[3]).toEqual([]);
    expect(seen[4]).toContain("bike.preview.png");
    expect(await readdir(folder)).toEqual(["bike.png"]);
  });

  it("Ctrl-C ends the making and writes what there is", async () => {
    painter.beforeToken = (token) => token === 4 && process.emit("SIGINT");
    await expect(run()).rejects.toBeInstanceOf(Interrupted);
    expect(await readdir(folder)).toEqual(["bike.png"]);
    expect(terminal.reported()).toMatch(/ended after 3 tokens/);
  });

  it("an error leaves no preview behind", async () => {
    painter.beforeToken = async (token) => {
      if (token < 6) return;
      await expect.poll(() => readdir(folder)).toContain("bike.preview.png");
      throw new NativeError("the engine broke");
    };
    await expect(run({ previewEvery: 2 })).rejects.toThrow("the engine broke");
    expect(await readdir(folder)).toEqual([]);
  });

  it("a preview that cannot be written ends the work", async () => {
    const files = await PictureFiles.plan(path.join(folder, "gone/bike.png"), "");
    await rm(path.join(folder, "gone"), { recursive: true });
    // The work goes on until it is told to end.
    painter.beforeToken = (token) => token < 3 || expect.poll(() => painter.stopped).toBe(true);
    const call = imagine("a bike", painter, { options: { previewEvery: 2 }, files, json: false }, terminal, interrupts);
    await expect(call).rejects.toThrow(/there is no folder/);
    expect(painter.stopped).toBe(true);
  });
});

it("flags become options; those not given stay absent", () => {
  const common = { model: "m", cache: true, warmUp: true };
  expect(toImageOptions(common)).toEqual({});
  const given = { n: 2, seed: 0, guidance: 1, temperature: 0, topK: 5, topP: 0.9 };
  expect(toImageOptions({ ...common, ...given })).toEqual(given);
});

it("progress tells tokens and the time that is left", () => {
  const said: string[] = [];
  let now = 1000;
  const activity = { say: (text: string) => void said.push(text.replace(/^[█░]+ */, "")), end: () => undefined };
  const progress = new StepProgress(activity, () => now);
  progress.say({ token: 1, of: 576 });
  now += 9_000;
  progress.say({ token: 46, of: 576 });
  now += 96_000;
  progress.say({ token: 526, of: 576 });
  progress.say({ token: 576, of: 576 });
  expect(said).toEqual([
    "0 %  1 of 576 tokens",
    "8 %  46 of 576 tokens, 2 min left",
    "91 %  526 of 576 tokens, 10 s left",
    "100 %  576 of 576 tokens, decoding",
  ]);
});
