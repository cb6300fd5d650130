import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DownloadError, MediaError, OptionError } from "../core/errors.js";
import { imageFixture } from "../testing/image-fixtures.js";
import { identifyImage, readImage } from "./image.js";

const BYTES = readFileSync(imageFixture("rgb.png"));

let requests: string[] = [];
let open = 0;
const answers: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  "/picture.png": (_, response) => response.end(BYTES),
  "/no-length": (_, response) => {
    response.write(BYTES.subarray(0, 20));
    setTimeout(() => response.end(BYTES.subarray(20)), 5);
  },
  "/page": (_, response) => response.setHeader("content-type", "text/html").end("<!doctype html><p>Sign in</p>"),
  "/empty": (_, response) => response.end(),
  "/missing": (_, response) => response.writeHead(404).end("not here"),
  "/busy": (_, response) => response.writeHead(503, "Come back later").end(),
  "/moved": (_, response) => response.writeHead(302, { location: "/elsewhere" }).end(),
  "/elsewhere": (_, response) => response.writeHead(308, { location: `${base}/picture.png` }).end(),
  "/round": (_, response) => response.writeHead(301, { location: "/round" }).end(),
  "/to-file": (_, response) => response.writeHead(302, { location: "file:///etc/hostname" }).end(),
  "/nowhere": (_, response) => response.writeHead(302).end(),
  "/large": (_, response) => response.writeHead(200, { "content-length": "1000000" }).write(BYTES),
  "/endless": (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65536)));
    };
    response.on("drain", more);
    more();
  },
  "/cut": (_, response) => {
    response.writeHead(200, { "content-length": String(BYTES.length) });
    response.write(BYTES.subarray(0, 30), () => response.destroy());
  },
  "/silent": () => undefined,
  "/slow": (_, response) => response.write(BYTES.subarray(0, 30)),
};
const server = createServer((request, response) => {
  requests.push(request.url!);
  open++;
  response.on("close", () => open--);
  answers[new URL(request.url!, base).pathname]!(request, response);
});
let base = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
beforeEach(() => {
  requests = [];
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function failure(work: Promise<unknown>): Promise<DownloadError> {
  return work.then(
    () => {
      throw new Error("nothing was thrown");
    },
    (error: unknown) => error as DownloadError,
  );
}

async function closed(): Promise<void> {
  while (open > 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe("images from the web", () => {
  it.each(["/picture.png", "/no-length", "/moved", "/picture.png?key=secret#part"])("%s is fetched", async (path) => {
    const expected = await readImage(BYTES);
    expect(await readImage(base + path)).toEqual(expected);
    expect(await readImage(new URL(base + path))).toEqual(expected);
  });

  it("is fetched once, and has the identity of its content", async () => {
    const { key, read } = await identifyImage(`${base}/picture.png`);
    expect(key).toBe((await identifyImage(BYTES)).key);
    await read();
    await read();
    expect(requests).toEqual(["/picture.png"]);
  });

  it.each([
    ["/missing", 404, "the server answered 404 Not Found. Check the address."],
    ["/busy", 503, "the server answered 503 Come back later. Check the address."],
    ["/round", 301, "more than 5 redirects. Pass the address at their end."],
    ["/to-file", 302, "it redirects to what is no web address. Pass the image's own address."],
    ["/nowhere", 302, "the server answered 302 Found. Check the address."],
  ])("%s is a DownloadError with its status", async (path, status, told) => {
    const error = await failure(readImage(`${base}${path}?key=secret`));
    expect(DownloadError.isInstance(error)).toBe(true);
    expect(error.message).toBe(`Cannot fetch the image ${base}${path}: ${told}`);
    expect(error).toMatchObject({ status, url: base + path });
    await closed();
  });

  it.each(["/large", "/endless"])("%s ends at maxBytes, and with it the connection", async (path) => {
    const error = await failure(readImage(base + path, { maxBytes: 300_000 }));
    expect(DownloadError.isInstance(error)).toBe(true);
    expect(error.message).toBe(
      `Cannot fetch the image ${base}${path}: it is larger than 300000 bytes. Pass a smaller image, or its bytes.`,
    );
    await closed();
  });

  it("maxBytes may be the very length", async () => {
    expect((await readImage(`${base}/no-length`, { maxBytes: BYTES.length })).width).toBe(24);
    await expect(readImage(`${base}/no-length`, { maxBytes: BYTES.length - 1 })).rejects.toThrow(DownloadError);
  });

  it.each(["/silent", "/slow"])("%s ends after timeoutMs", async (path) => {
    const error = await failure(readImage(base + path, { timeoutMs: 60 }));
    expect(DownloadError.isInstance(error)).toBe(true);
    expect(error.message).toContain("no complete answer within 60 ms. Fetch it yourself");
    await closed();
  });

  it.each(["/silent", "/slow"])("%s ends with the signal's reason", async (path) => {
    const controller = new AbortController();
    const reading = failure(readImage(base + path, { signal: controller.signal }));
    while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const reason = new Error("enough");
    controller.abort(reason);
    expect(await reading).toBe(reason);
    await closed();
  });

  it("a connection that breaks, or cannot be made, is told with the reason", async () => {
    const broken = await failure(readImage(`${base}/cut`));
    expect(DownloadError.isInstance(broken)).toBe(true);
    expect(broken.status).toBeUndefined();
    expect(broken.message).toMatch(/^Cannot fetch the image http.*\/cut: .+\. Check the address and the network\.$/);
    const unused = createServer();
    await new Promise<void>((resolve) => unused.listen(0, "127.0.0.1", resolve));
    const { port } = unused.address() as AddressInfo;
    await new Promise((resolve) => unused.close(resolve));
    const refused = await failure(readImage(`http://127.0.0.1:${port}/a.png`));
    expect(DownloadError.isInstance(refused)).toBe(true);
    expect(refused.message).toContain("ECONNREFUSED");
  });

  it.each([
    ["/page", "it is an HTML page (an error page of a server?), not an image."],
    ["/empty", "it is empty (0 bytes)."],
  ])("what is no image is a MediaError: %s", async (path, told) => {
    const error = await failure(readImage(base + path));
    expect(MediaError.isInstance(error)).toBe(true);
    expect(error.message).toContain(`Cannot read an image from ${base}${path}: ${told}`);
  });

  it("a URL with a password is refused without showing it", async () => {
    const error = await failure(readImage("http://me:secret@127.0.0.1/a.png"));
    expect(OptionError.isInstance(error)).toBe(true);
    expect(error.message).toContain("a URL without user name and password");
    expect(JSON.stringify(error) + error.message).not.toContain("secret");
  });
});
