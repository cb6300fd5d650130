import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { audioFixture } from "../testing/audio-fixtures.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { openAudio } from "./audio.js";
import { identifyImage, readImage } from "./image.js";
import { RgbImage } from "./rgb-image.js";

/** Hands the memory to another thread, so to say. */
function transferred<View extends Uint8Array | Float32Array>(view: View): View {
  structuredClone(view.buffer, { transfer: [view.buffer as ArrayBuffer] });
  return view;
}

const SIDE = 700; // several blocks of work

describe("pixels of the caller's", () => {
  it.each([
    ["raw pixels", (data: Uint8Array) => ({ data, width: SIDE, height: SIDE, channels: 3 as const })],
    ["an RgbImage", (data: Uint8Array) => new RgbImage(SIDE, SIDE, data)],
  ])("%s count as they were at the call", async (_, wrap) => {
    const data = new Uint8Array(SIDE * SIDE * 3).fill(200);
    const kept = await identifyImage(wrap(data.slice()));
    const read = readImage(wrap(data));
    const identified = identifyImage(wrap(data));
    data.fill(7);
    expect((await read).data.every((level) => level === 200)).toBe(true);
    expect((await identified).key).toBe(kept.key);
  });
});

describe("memory that was handed to another thread", () => {
  const wanted = { code: "option", message: expect.stringMatching(/transferred.*Pass a copy/) as string };

  it("is refused as an image", async () => {
    const bytes = transferred(new Uint8Array(readFileSync(imageFixture("rgb.png"))));
    for (const input of [bytes, bytes.buffer])
      await expect(readImage(input)).rejects.toMatchObject({ ...wanted, path: "image" });
  });

  it("is refused as audio", async () => {
    const bytes = transferred(new Uint8Array(readFileSync(audioFixture("pcm-u8.wav"))));
    for (const input of [bytes, bytes.buffer])
      await expect(openAudio(input)).rejects.toMatchObject({ ...wanted, path: "audio" });
    const samples = transferred(new Float32Array(1600));
    await expect(openAudio(samples, { sampleRate: 16_000 })).rejects.toMatchObject(wanted);
  });
});
