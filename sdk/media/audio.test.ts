import { execFileSync } from "node:child_process";
import { chmodSync, createReadStream, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MediaError, OptionError } from "../core/errors.js";
import {
  expectSame,
  int16Bytes,
  joinSamples,
  readAudio,
  readPieces,
  sweep,
  wavFile,
} from "../testing/audio-fixtures.js";
import { openAudio } from "./audio.js";

const RATE = 44100;
const stereo = int16Bytes(
  Array.from({ length: 2 * RATE * 12 }, (_, index) =>
    Math.round(9000 * Math.sin(index / 40) * Math.cos(index / 90000)),
  ),
);
const file = wavFile({ channels: 2, rate: RATE, data: stereo });
const samples = Float32Array.from(sweep(16000, 0));

let folder: string;
let path: string;
let whole: Float32Array;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "pergola-audio-"));
  path = join(folder, "täst clip.wav");
  writeFileSync(path, file);
  whole = await readAudio(path);
});

afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function failure(input: unknown, options?: object): Promise<Error> {
  const reason: unknown = await readAudio(input, options).catch((error: unknown) => error);
  expect(reason).toBeInstanceOf(Error);
  return reason as Error;
}

/** Files that this process has open in the test's folder. */
function openFiles(): number {
  return execFileSync("ls", ["-l", `/proc/${process.pid}/fd`], { encoding: "utf8" }).split(folder).length - 1;
}

function chunked(bytes: Uint8Array, size = 5000): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

describe("inputs", () => {
  it("takes paths, file: URLs and links", async () => {
    expect(whole).toHaveLength(12 * 16000);
    symlinkSync(path, join(folder, "link.wav"));
    const same = [
      relative(process.cwd(), path),
      pathToFileURL(path),
      pathToFileURL(path).href,
      join(folder, "link.wav"),
    ];
    for (const input of same) expectSame(await readAudio(input), whole);
    const error = await failure("~/no such file.wav");
    expect(error.message).toContain(
      `Cannot read audio from ${join(homedir(), "no such file.wav")}: there is no such file`,
    );
  });

  it("takes encoded bytes in all wrappings", async () => {
    const plain = new Uint8Array(file);
    const inputs = [file, plain, plain.buffer, new Blob([plain]), `data:audio/wav;base64,${file.toString("base64")}`];
    for (const input of inputs) expectSame(await readAudio(input), whole);
  });

  it("takes streams of encoded bytes", async () => {
    async function* generator(): AsyncGenerator<Uint8Array> {
      for (const chunk of chunked(file)) {
        yield chunk;
        yield new Uint8Array(0);
      }
    }
    const web = new ReadableStream({
      start(controller) {
        for (const chunk of chunked(file)) controller.enqueue(chunk);
        controller.close();
      },
    });
    for (const input of [createReadStream(path), Readable.from(chunked(file)), generator(), web, chunked(file)]) {
      expectSame(await readAudio(input), whole);
    }
  });

  it("takes samples with their rate", async () => {
    expect(await readAudio(samples, { sampleRate: 16000 })).toEqual(samples);
    const chunks = [samples.subarray(0, 1), new Float32Array(0), samples.subarray(1, 3000), samples.subarray(3000)];
    for (const input of [chunks, Readable.from(chunks)]) {
      expect(await readAudio(input, { sampleRate: 16000 })).toEqual(samples);
    }
    const slow = Float32Array.from(sweep(8000, 0));
    expect(await readAudio([slow.subarray(0, 999), slow.subarray(999)], { sampleRate: 8000 })).toEqual(
      await readAudio(slow, { sampleRate: 8000 }),
    );
    expect(await readAudio(new Float32Array(0), { sampleRate: 16000 })).toHaveLength(0);
  });

  it("keeps samples beyond [-1, 1] and refuses NaN and infinity", async () => {
    expect(await readAudio(Float32Array.of(1e6, -3), { sampleRate: 16000 })).toEqual(Float32Array.of(1e6, -3));
    const bad = new Float32Array(30000);
    bad[24000] = NaN;
    for (const input of [bad, [bad.subarray(0, 20000), bad.subarray(20000)]]) {
      const error = await failure(input, { sampleRate: 8000 });
      expect(error).toBeInstanceOf(MediaError);
      expect(error.message).toMatch(/^Sample 24000 of the (Float32Array|audio stream) \(at 3.000 s\) is NaN; /);
    }
  });

  it("reads a named pipe as it comes", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [read] = await Promise.all([
      readAudio(pipe),
      import("node:fs/promises").then((fs) => fs.writeFile(pipe, file)),
    ]);
    expectSame(read, whole);
  });
});

describe("wrong arguments: OptionError", () => {
  const wrong: [what: string, input: unknown, options: object, message: string][] = [
    ["undefined", undefined, {}, "audio must be a path, a file: or data: URL, the bytes"],
    ["a number", 5, {}, "received 5"],
    ["an empty string", "  ", {}, 'received "  "'],
    ["NUL in a path", "a\0b", {}, "A path cannot hold a NUL character"],
    ["an http URL", "https://example.org/talk.wav", {}, "pass what fetch gives: (await fetch(url)).body"],
    ["an http URL object", new URL("http://example.org/talk.wav"), {}, "(await fetch(url)).body"],
    ["an ftp URL", "ftp://example.org/talk.wav", {}, "URLs of this kind are not read"],
    ["a data: URL without base64", "data:audio/wav,abc", {}, "only those in base64 are read"],
    ["a data: URL with other characters", "data:audio/wav;base64,a*b", {}, "Its data is not base64"],
    ["a file: URL of another machine", "file://elsewhere/talk.wav", {}, "file:"],
    ["samples without a rate", samples, {}, "sampleRate is missing: a Float32Array does not say"],
    [
      "a file with a rate",
      "talk.wav",
      { sampleRate: 16000 },
      "sampleRate belongs to samples (Float32Array); a file says",
    ],
    ["bytes with a rate", file, { sampleRate: 16000 }, "Leave sampleRate out"],
    ["Int16Array", new Int16Array(5), { sampleRate: 16000 }, "Float32Array.from(audio, (value) => value / 32768)"],
    ["Float64Array", new Float64Array(5), { sampleRate: 16000 }, "Convert it: Float32Array.from(audio)"],
    ["an array of numbers", [0, 0.5], { sampleRate: 16000 }, "Convert it: Float32Array.from(audio)"],
    ["a promise", Promise.resolve(file), {}, "Await the promise first"],
    ["a response", new Response("x"), {}, "Of a response pass its body"],
    ["a rate of 0", samples, { sampleRate: 0 }, "sampleRate must be a whole number from 1000 to 384000"],
    ["a rate of NaN", samples, { sampleRate: NaN }, "sampleRate must be a whole number"],
    ["a fractional rate", samples, { sampleRate: 22050.5 }, "sampleRate must be a whole number"],
    ["a negative start", path, { range: { start: -1 } }, "range.start must be a number of seconds from 0"],
    [
      "an end before the start",
      path,
      { range: { start: 2, end: 1 } },
      "range.end must be a number of seconds after start",
    ],
    ["an unknown option", path, { samplerate: 5 }, 'Did you mean "sampleRate"?'],
    ["text chunks", ["RIFF"], {}, "Chunk 0 of the audio stream must be a Uint8Array"],
    [
      "text chunks of a stream",
      Readable.from(["RIFF"]).setEncoding("utf8"),
      {},
      "Do not set an encoding on the stream",
    ],
    ["samples in a stream without a rate", [samples], {}, "Pass sampleRate to say that the chunks are samples"],
    ["bytes in a stream with a rate", [file], { sampleRate: 8000 }, "Leave sampleRate out for an encoded file"],
    [
      "Int16Array chunks",
      [new Int16Array(4)],
      { sampleRate: 8000 },
      "Float32Array.from(chunk, (value) => value / 32768)",
    ],
  ];
  it.each(wrong)("%s", async (_, input, options, message) => {
    const error = await failure(input, options);
    expect(error).toBeInstanceOf(OptionError);
    expect(error.message).toContain(message);
  });
});

describe("files that cannot be opened: MediaError", () => {
  it("names the path and the remedy", async () => {
    mkdirSync(join(folder, "folder"));
    writeFileSync(join(folder, "empty.wav"), "");
    symlinkSync("loop.wav", join(folder, "loop.wav"));
    const cases: [path: string, message: string][] = [
      [join(folder, "missing.wav"), "there is no such file"],
      [join(path, "below.wav"), "a part of the path is a file"],
      [join(folder, "folder"), "it is a folder"],
      [join(folder, "empty.wav"), "it is empty (0 bytes)"],
      [join(folder, "loop.wav"), "its links go round in a circle"],
      [`${folder}/${"x".repeat(400)}`, "the path is too long"],
      ["/dev/null", "it is a device"],
    ];
    for (const [input, message] of cases) {
      const error = await failure(input);
      expect(error).toBeInstanceOf(MediaError);
      expect(error.message).toContain(message);
      expect(error.message).toContain(input.slice(0, 40));
    }
    expect(openFiles()).toBe(0);
  });

  it.skipIf(process.getuid?.() === 0)("says that permissions are missing", async () => {
    const secret = join(folder, "secret.wav");
    writeFileSync(secret, file);
    chmodSync(secret, 0);
    expect((await failure(secret)).message).toContain("no permission to read it");
  });
});

describe("range", () => {
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

describe("reading", () => {
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
