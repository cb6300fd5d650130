import { execFileSync } from "node:child_process";
import { chmodSync, createReadStream, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { ReadableStream } from "node:stream/web";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { MediaError, OptionError } from "../core/errors.js";
import { expectSame, readAudio, sweep } from "../testing/audio-fixtures.js";
import { failure, file, openFiles, recording, useRecording } from "../testing/audio-recording.js";

const samples = Float32Array.from(sweep(16000, 0));

let folder: string;
let path: string;
let whole: Float32Array;

useRecording();
beforeAll(() => void ({ folder, path, whole } = recording));

function chunked(bytes: Uint8Array, size = 5000): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

describe("inputs", { timeout: 60_000 }, () => {
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
    ["undefined", undefined, {}, "audio must be a path, a file:, data:, http: or https: URL, the bytes"],
    ["a number", 5, {}, "received 5"],
    ["an empty string", "  ", {}, 'received "  "'],
    ["NUL in a path", "a\0b", {}, "A path cannot hold a NUL character"],
    ["a URL with a password", "https://me:secret@example.org/a.wav", {}, "a URL without user name and password"],
    ["a URL that is none", "http://", {}, "It is not a valid URL"],
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
