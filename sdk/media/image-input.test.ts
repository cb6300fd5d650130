import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { MediaError, OptionError } from "../core/errors.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { identifyImage, type ImageInput, readImage } from "./image.js";
import { RgbImage } from "./rgb-image.js";

const folder = mkdtempSync(join(tmpdir(), "pergola image "));
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const PATH = imageFixture("rgba.png");
const BYTES = readFileSync(PATH);
const EXPECTED = await readImage(BYTES);

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error: unknown) => error as Error,
  );
}

describe("encoded files", () => {
  it("are taken in all wrappings", async () => {
    const around = new Uint8Array(BYTES.length + 13);
    around.set(BYTES, 7);
    const link = join(folder, "ein Bild é.jpg");
    symlinkSync(PATH, link);
    const inputs: ImageInput[] = [
      PATH,
      relative(process.cwd(), PATH),
      pathToFileURL(PATH),
      pathToFileURL(PATH).href,
      link,
      `data:image/png;base64,${BYTES.toString("base64")}`,
      new URL(`data:;base64,${BYTES.toString("base64url")}`),
      BYTES,
      new Uint8Array(BYTES),
      around.subarray(7, 7 + BYTES.length),
      Buffer.from(around.buffer, 7, BYTES.length),
      new Uint8Array(BYTES).buffer,
    ];
    for (const input of inputs) expect(await readImage(input)).toEqual(EXPECTED);
  });

  it("a named pipe is read to its end", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [image] = await Promise.all([
      readImage(pipe),
      import("node:fs/promises").then(({ writeFile }) => writeFile(pipe, BYTES)),
    ]);
    expect(image).toEqual(EXPECTED);
  });

  it.each([
    [join(folder, "none.png"), "there is no such file. Check the path"],
    [folder, "it is a folder. Pass the path of one image file."],
    [join(PATH, "inside.png"), "a part of the path is a file, not a folder"],
    ["/dev/zero", "it is a device, not a file. Pass a file, or its bytes."],
    ["x".repeat(5000), "the path is too long for this system. Encoded bytes are passed as a Buffer"],
  ])("%s is a MediaError", async (path, told) => {
    const error = await failure(readImage(path));
    expect(MediaError.isInstance(error)).toBe(true);
    expect(error.message).toMatch(/^Cannot read an image from /);
    expect(error.message).toContain(told);
  });

  it("more than maxBytes is refused, and names the limit", async () => {
    const limits = { maxBytes: BYTES.length - 1 };
    for (const input of [PATH, BYTES, `data:;base64,${BYTES.toString("base64")}`]) {
      const error = await failure(readImage(input, limits));
      expect(MediaError.isInstance(error)).toBe(true);
      expect(error.message).toContain(`it is larger than ${limits.maxBytes} bytes. Pass a smaller image.`);
    }
    expect(await readImage(PATH, { maxBytes: BYTES.length })).toEqual(EXPECTED);
  });

  it.each([
    ["", "image must be the path of an image file, or a file:, data:, http: or https: URL"],
    ["a\0b.png", "A path cannot hold a NUL character."],
    ["data:image/png;base64", "A data: URL has a comma before its data."],
    ["data:image/png,rubbish", "Of data: URLs only those in base64 are read: data:image/png;base64,…."],
    ["data:image/png;base64,$$$", "Its data is not base64."],
    ["file://elsewhere/a.png", "File URL host"],
    ["ftp://example.org/a.png", "URLs of this kind are not read"],
    ["blob:nodedata:1234", "URLs of this kind are not read"],
    ["http://", "It is not a valid URL."],
  ])("%j is an OptionError", async (input, told) => {
    const error = await failure(readImage(input, { path: "image" }));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain(told);
  });

  it.each([
    [undefined, ""],
    [null, ""],
    [17, ""],
    [["a.png"], "Several images are several image parts."],
    [new Response(""), "Of a response pass its body."],
    [Promise.resolve("a.png"), "Await the promise first."],
    [{ url: "a.png" }, "Pass its url."],
    [new Float32Array(3), "Pixels come with their size: { data, width, height }."],
  ])("%s is an OptionError that says what fits", async (input, told) => {
    const error = await failure(readImage(input as unknown as ImageInput, { path: "messages[0].content[1].image" }));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toMatch(/^messages\[0\]\.content\[1\]\.image must be a path, a file:/);
    expect(error.message).toContain(told);
    expect((error as OptionError).path).toBe("messages[0].content[1].image");
  });

  it("unknown options are refused by name", async () => {
    const error = await failure(readImage(BYTES, { maxByte: 3 } as object));
    expect(error.message).toContain('Unknown option "maxByte". Did you mean "maxBytes"?');
    await expect(readImage(BYTES, { alpha: "blend" as "drop" })).rejects.toThrow(/^alpha must be/);
  });
});

describe("identity", () => {
  it("is of the content, not of the name or the wrapping", async () => {
    const copy = join(folder, "copy.bin");
    writeFileSync(copy, BYTES);
    const keys = await Promise.all(
      [PATH, copy, BYTES, `data:;base64,${BYTES.toString("base64")}`].map(
        async (input) => (await identifyImage(input)).key,
      ),
    );
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{64}$/);
  });

  it("differs by alpha, by one bit, and by the shape of pixels", async () => {
    const changed = Buffer.from(BYTES);
    changed[changed.length - 1]! ^= 1;
    const data = new Uint8Array(24);
    const inputs = [
      identifyImage(BYTES),
      identifyImage(BYTES, { alpha: "drop" }),
      identifyImage(changed),
      identifyImage({ data, width: 4, height: 2 }),
      identifyImage({ data, width: 2, height: 4 }),
      identifyImage({ data, width: 8, height: 1 }),
    ];
    expect(new Set((await Promise.all(inputs)).map(({ key }) => key)).size).toBe(inputs.length);
  });

  it("pixels have one identity in all forms", async () => {
    const data = Uint8Array.from({ length: 24 }, (_, index) => index);
    const image = new RgbImage(4, 2, data);
    const { key } = await identifyImage(image);
    expect((await identifyImage({ data: Float32Array.from(data, (v) => v / 255), width: 4, height: 2 })).key).toBe(key);
  });

  it("decodes nothing: a damaged file has a key, and read() tells", async () => {
    const { key, read } = await identifyImage(Buffer.from("\x89PNG\r\n\x1a\nrubbish", "latin1"));
    expect(key).toHaveLength(64);
    await expect(read()).rejects.toThrow(MediaError);
  });

  it("read() gives what the key was made of, whatever the caller does to the memory or the file", async () => {
    const bytes = Buffer.from(BYTES);
    const file = join(folder, "changing.png");
    writeFileSync(file, BYTES);
    const pixels = { data: new Uint8Array(24).fill(5), width: 4, height: 2 };
    const [ofBytes, ofFile, ofPixels] = await Promise.all([
      identifyImage(bytes),
      identifyImage(file),
      identifyImage(pixels),
    ]);
    bytes.fill(0);
    writeFileSync(file, "gone");
    pixels.data.fill(9);
    expect(await ofBytes.read()).toEqual(EXPECTED);
    expect(await ofFile.read()).toEqual(EXPECTED);
    expect(await ofFile.read()).toEqual(EXPECTED);
    expect((await ofPixels.read()).data.every((level) => level === 5)).toBe(true);
  });
});

describe("an ArrayBuffer that was transferred", () => {
  it("is told to be empty for good", async () => {
    const buffer = new Uint8Array(BYTES).buffer;
    structuredClone(buffer, { transfer: [buffer] });
    const error = await failure(readImage(buffer, { path: "images[0]" }));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toMatch(/^images\[0\] is an ArrayBuffer that was transferred/);
  });
});

describe("abort", () => {
  it("before the start rejects with the reason", async () => {
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    for (const input of [PATH, BYTES, { data: new Uint8Array(3), width: 1, height: 1 }]) {
      expect(await failure(readImage(input, { signal }))).toBe(reason);
      expect(await failure(identifyImage(input, { signal }))).toBe(reason);
    }
  });

  it("while decoding rejects at once, and leaves no listener", async () => {
    const pixels = new Uint8Array(3000 * 2000 * 3);
    const large = await new RgbImage(
      3000,
      2000,
      pixels.map((_, index) => index % 251),
    ).toBuffer("webp");
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...values: Parameters<typeof addEventListener>) => {
      listeners++;
      addEventListener.apply(signal, values);
    };
    signal.removeEventListener = (...values: Parameters<typeof removeEventListener>) => {
      listeners--;
      removeEventListener.apply(signal, values);
    };
    const { read } = await identifyImage(large);
    const reading = read(signal);
    setImmediate(() => {
      controller.abort(new Error("enough"));
    });
    expect((await failure(reading)).message).toBe("enough");
    expect(listeners).toBe(0);
    expect((await read()).width).toBe(3000);
  });

  it("of the identification, later, has no part in reading", async () => {
    const controller = new AbortController();
    const { read } = await identifyImage(BYTES, { signal: controller.signal });
    controller.abort();
    expect(await read()).toEqual(EXPECTED);
  });

  it("while others are decoded rejects, and lets the next one in", async () => {
    const large = await new RgbImage(2000, 2000, new Uint8Array(12_000_000)).toBuffer();
    const controller = new AbortController();
    const waiting = Array.from({ length: 6 }, () => failure(readImage(large, { signal: controller.signal })));
    const reason = new Error("enough");
    setImmediate(() => {
      controller.abort(reason);
    });
    const after = readImage(BYTES);
    for (const error of await Promise.all(waiting)) expect(error).toBe(reason);
    expect(await after).toEqual(EXPECTED);
  });
});
