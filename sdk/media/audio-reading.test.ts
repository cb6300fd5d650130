import { execFileSync } from "node:child_process";
import { createReadStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { MediaError } from "../core/errors.js";
import { expectSame, int16Bytes, joinSamples, readAudio, readPieces, wavFile } from "../testing/audio-fixtures.js";
import { RATE, failure, file, openFiles, recording, stereo, useRecording } from "../testing/audio-recording.js";
import { openAudio } from "./audio.js";

let folder: string;
let path: string;
let whole: Float32Array;

useRecording();
beforeAll(() => void ({ folder, path, whole } = recording));

describe("range", { timeout: 60_000 }, () => {
  it.each([
    [0, 1],
    [3.3, 7.25],
    [5, undefined],
    [11.9, 40],
    [0.00001, 0.5],
  ])("from %s to %s s: the same samples as in the whole", async (start, end) => {
    const expected = whole.subarray(Math.round(start * 16000), end === undefined ? undefined : Math.round(end * 16000));
    for (const input of [path, file, createReadStream(path)]) {
      const part = await readAudio(input, { range: { start, end } });
      expectSame(part, expected);
    }
    const source = await openAudio(path, { range: { start, end } });
    expect(source.duration).toBeCloseTo(expected.length / 16000, 4);
    await source.close();
  });

  it("beyond the end: nothing", async () => {
    expect(await readAudio(path, { range: { start: 12.5 } })).toHaveLength(0);
    expect(await readAudio(path, { range: { start: 1e9, end: 2e9 } })).toHaveLength(0);
    expect((await openAudio(file, { range: { start: 100 } })).duration).toBe(0);
  });

  it("does not read what lies before and behind", async () => {
    // 2 hours of which only the header exists: reading the samples would show that they are missing.
    const sparse = join(folder, "sparse.wav");
    const header = wavFile({ channels: 2, rate: RATE, dataSize: 7200 * RATE * 4 });
    writeFileSync(sparse, header);
    execFileSync("truncate", ["-s", String(44 + 7200 * RATE * 4), sparse]);
    const tail = int16Bytes(Array.from({ length: 2 * RATE }, () => 16384));
    const handle = await import("node:fs/promises").then((fs) => fs.open(sparse, "r+"));
    await handle.write(tail, 0, tail.length, 44 + 7000 * RATE * 4);
    await handle.close();
    const part = await readAudio(sparse, { range: { start: 7000.2, end: 7000.8 } });
    expect(part).toHaveLength(0.6 * 16000);
    expect(part.every((value) => Math.abs(value - 0.5) < 1e-3)).toBe(true);
  });

  it("works on samples, at other rates too", async () => {
    for (const sampleRate of [16000, 11025, 44056, 96000]) {
      const noise = Float32Array.from({ length: sampleRate * 2 }, (_, index) => Math.sin(index * index * 0.001));
      const all = await readAudio(noise, { sampleRate });
      const part = await readAudio(noise, { sampleRate, range: { start: 0.7, end: 1.3 } });
      expectSame(part, all.subarray(11200, 20800));
    }
  });
});

describe("reading", { timeout: 60_000 }, () => {
  it("gives pieces of at most 10 s at 16 kHz, and knows the duration", async () => {
    const source = await openAudio(path);
    expect(source.name).toBe(path);
    expect(source.duration).toBe(12);
    const pieces = await readPieces(path);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(160_000);
    expectSame(joinSamples(pieces), whole);
    await source.close();
  });

  it("pieces stay as they were when later ones are read", async () => {
    const source = await openAudio(path);
    const [first, copies]: [Float32Array[], Float32Array[]] = [[], []];
    for await (const piece of source) {
      first.push(piece);
      copies.push(piece.slice());
    }
    first.forEach((piece, index) => {
      expectSame(piece, copies[index]!);
    });
  });

  it("can be read once", async () => {
    const source = await openAudio(path);
    for await (const piece of source) expect(piece.length).toBeGreaterThan(0);
    expect(() => source[Symbol.asyncIterator]()).toThrow("has been read or closed already. Open it again");
  });

  it("closes files: at the end, when left early, on errors, unread, and aborted", async () => {
    await readAudio(path);
    for await (const piece of await openAudio(path)) {
      expect(piece.length).toBeGreaterThan(0);
      expect(openFiles()).toBe(1);
      break;
    }
    expect(openFiles()).toBe(0);
    const source = await openAudio(path);
    await source.close();
    await source.close();
    {
      await using unread = await openAudio(path);
      expect(unread.duration).toBe(12);
    }
    writeFileSync(join(folder, "bad.wav"), wavFile({ rate: 0, data: stereo }));
    await failure(join(folder, "bad.wav"));
    expect(openFiles()).toBe(0);
  });

  it("gives what a live stream has brought, without waiting for its end", async () => {
    const live = new PassThrough();
    live.write(file.subarray(0, 44));
    const pieces = (await openAudio(live))[Symbol.asyncIterator]();
    let received = 0;
    for (let second = 0; second < 3; second++) {
      live.write(stereo.subarray(second * RATE * 4, (second + 1) * RATE * 4));
      while (received < (second + 1) * 16000 - 200) {
        const { value } = await pieces.next();
        expectSame(value!, whole.subarray(received, received + value!.length));
        received += value!.length;
      }
    }
    await pieces.return();
    expect(live.destroyed).toBe(true);
  });

  it("tells a stream's error with its cause", async () => {
    const cause = new Error("the microphone was unplugged");
    async function* failing(): AsyncGenerator<Uint8Array> {
      yield file.subarray(0, 100_000);
      throw cause;
    }
    const error = await failure(failing());
    expect(error).toBeInstanceOf(MediaError);
    expect(error.message).toBe("The source of the audio stream failed: the microphone was unplugged");
    expect(error.cause).toBe(cause);
    const broken = new PassThrough();
    broken.destroy(cause);
    expect((await failure(broken)).cause).toBe(cause);
  });

  it("ends a stream that is left early", async () => {
    let ended = false;
    async function* endless(): AsyncGenerator<Float32Array> {
      try {
        for (;;) yield new Float32Array(1600);
      } finally {
        ended = true;
      }
    }
    for await (const piece of await openAudio(endless(), { sampleRate: 16000 })) {
      expect(piece).toHaveLength(1600);
      break;
    }
    expect(ended).toBe(true);
  });

  it("lets other work run while it reads from memory", async () => {
    let turns = 0;
    let reading = true;
    const count = (): void => {
      turns++;
      if (reading) setImmediate(count);
    };
    setImmediate(count);
    const read = await readAudio(new Float32Array(48000 * 600), { sampleRate: 48000 });
    reading = false;
    expect(read).toHaveLength(16000 * 600);
    expect(turns).toBeGreaterThan(10);
  });

  it("needs little memory for a long recording", async () => {
    const second = stereo.subarray(0, RATE * 4);
    async function* recording(): AsyncGenerator<Uint8Array> {
      yield wavFile({ channels: 2, rate: RATE, dataSize: 0xffffffff, riffSize: 0xffffffff });
      for (let count = 0; count < 900; count++) yield second;
    }
    const before = process.memoryUsage().rss;
    let [length, most] = [0, 0];
    for await (const piece of await openAudio(recording())) {
      length += piece.length;
      most = Math.max(most, process.memoryUsage().rss - before);
    }
    expect(length).toBe(900 * 16000);
    // Its samples would take 160 MB as they are, 640 MB as wavefile has them.
    expect(most).toBeLessThan(150e6);
  });
});

describe("abort", () => {
  it("before: the reason, and nothing is opened", async () => {
    const reason = new Error("changed my mind");
    await expect(openAudio(path, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(openFiles()).toBe(0);
  });

  it("between pieces: the reason, and the file is closed", async () => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const read = async (): Promise<void> => {
      for await (const piece of await openAudio(path, { signal: controller.signal })) {
        expect(piece.length).toBeGreaterThan(0);
        controller.abort(reason);
      }
    };
    await expect(read()).rejects.toBe(reason);
    expect(openFiles()).toBe(0);
  });

  it("while a stream is silent: at once, and the stream is destroyed", async () => {
    const controller = new AbortController();
    const silent = new PassThrough();
    const pieces = (await openAudio(silent, { signal: controller.signal }))[Symbol.asyncIterator]();
    const next = pieces.next();
    silent.write(file.subarray(0, 30));
    setTimeout(() => {
      controller.abort();
    }, 5);
    await expect(next).rejects.toMatchObject({ name: "AbortError" });
    expect(silent.destroyed).toBe(true);
  });
});
