import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DownloadError, MediaError, OptionError } from "../core/errors.js";
import { audioFixture, readAudio } from "../testing/audio-fixtures.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { readImage, type ImageInput } from "./image.js";
import { imageToJSON, snapshotImage } from "./image-json.js";

// Pictures and sound are taken in the same forms; here each is read from each of them.

const PICTURE = imageFixture("rgb.png");
const SOUND = fileURLToPath(audioFixture("a-law.wav"));
const media = {
  image: {
    path: PICTURE,
    type: "image/png",
    read: async (input: unknown) => (await readImage(input as ImageInput)).data,
  },
  audio: { path: SOUND, type: "audio/wav", read: (input: unknown) => readAudio(input) },
};

let base = "";
const cut = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.length >> 1);
const server = createServer((request, response) => {
  const [, kind, what] = request.url!.split("/") as [string, keyof typeof media, string];
  const bytes = readFileSync(media[kind].path);
  if (what === "whole") response.end(bytes);
  else if (what === "pieces") Readable.from(pieces(bytes)).pipe(response);
  else if (what === "moved") response.writeHead(302, { location: `/${kind}/whole` }).end();
  else if (what === "missing") response.writeHead(404).end();
  else if (what === "broken") {
    response.writeHead(200, { "content-length": bytes.length });
    response.write(cut(bytes), () => response.destroy());
  } else if (what === "slow") response.write(cut(bytes));
});
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function* pieces(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700);
}

describe.each(["image", "audio"] as const)("%s", (kind) => {
  const { path, type, read } = media[kind];
  const file = readFileSync(path);
  const forms: [form: string, input: () => unknown][] = [
    ["a path", () => path],
    ["a file: URL", () => pathToFileURL(path)],
    ["the text of a file: URL", () => pathToFileURL(path).href],
    ["a data: URL", () => new URL(`data:${type};base64,${file.toString("base64")}`)],
    ["the text of a data: URL", () => `data:${type};base64,${file.toString("base64")}`],
    ["an http: URL", () => new URL(`${base}/${kind}/whole`)],
    ["the text of an http: URL that is moved", () => `${base}/${kind}/moved`],
    ["an http: URL whose length is not told", () => `${base}/${kind}/pieces`],
    ["a Buffer", () => file],
    ["a Uint8Array", () => new Uint8Array(file)],
    ["an ArrayBuffer", () => new Uint8Array(file).buffer],
    ["a Blob", () => new Blob([file])],
    ["a File", () => new File([file], "file.bin")],
    ["a Node stream", () => Readable.from(pieces(file))],
    ["a web stream", () => new Blob([file]).stream()],
    ["an async iterable", () => chunks(file)],
  ];

  it.each(forms)("is read from %s", async (_, input) => {
    expect(await read(input())).toEqual(await read(path));
  });

  const refused: [input: string, make: () => unknown, type: typeof MediaError | typeof DownloadError, told: RegExp][] =
    [
      ["an address with nothing behind it", () => `${base}/${kind}/missing`, DownloadError, /Cannot fetch the .*404/],
      ["a connection that breaks", () => `${base}/${kind}/broken`, DownloadError, /Cannot fetch the .*\/broken: /],
      ["an address without a server", () => "http://127.0.0.1:1/a", DownloadError, /Check the address and the network/],
      ["a path without a file", () => "no such file", MediaError, /there is no such file/],
      ["a Blob with something else", () => new Blob(["<!doctype html>"]), MediaError, /HTML|web page|not/],
      ["a stream that fails", () => failing(), MediaError, /failed: the disk is gone/],
    ];

  it.each(refused)("%s is told", async (_, make, Type, told) => {
    const error: unknown = await read(make()).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(Type);
    expect((error as Error).message).toMatch(told);
  });

  it("refuses chunks that are no bytes, and a stream that is being read", async () => {
    await expect(read(Readable.from(["text"]))).rejects.toMatchObject({ code: "option", path: kind });
    const stream = new Blob([file]).stream();
    stream.getReader();
    await expect(read(stream)).rejects.toThrow(/A stream can be read once/);
  });
});

async function* chunks(bytes: Buffer): AsyncGenerator<Buffer> {
  for (const piece of pieces(bytes)) yield await Promise.resolve(piece);
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(4);
  await Promise.resolve();
  throw new Error("the disk is gone");
}

it("fetching audio ends with the signal's reason", async () => {
  const controller = new AbortController();
  const reading = readAudio(`${base}/audio/slow`, { signal: controller.signal });
  const reason = new Error("enough");
  setTimeout(() => controller.abort(reason), 50);
  await expect(reading).rejects.toBe(reason);
});

it("a chat, which keeps its pictures, takes none that must be waited for", () => {
  for (const image of [new Blob([]), Readable.from([])]) {
    for (const keep of [snapshotImage, imageToJSON]) {
      expect(() => keep(image)).toThrow(OptionError);
      expect(() => keep(image)).toThrow(/in a chat, which keeps its pictures.*arrayBuffer/);
    }
  }
});
