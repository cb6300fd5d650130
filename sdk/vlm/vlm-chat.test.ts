import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MediaError, OptionError } from "../core/errors.js";
import { RgbImage } from "../media/rgb-image.js";
import { failureOf, turns } from "../testing/fake-harness.js";
import { grey, meanOf, meansOf, useFakeVLMs } from "../testing/vlm-fixture.js";
import { visionFixture } from "../testing/vlm-fixtures.js";
import type { ImagePart } from "./vlm-messages.js";

const load = useFakeVLMs();
const SMALL = visionFixture("vlm/images/small.png");
const WIDE = visionFixture("vlm/images/wide.png");

const about = (image: ImagePart["image"], words: string) => [
  { type: "image" as const, image },
  { type: "text" as const, text: words },
];

describe("a chat with pictures", () => {
  it("goes on with texts and pictures as they come", async () => {
    const { vlm, prompts, requests, encoder } = await load(() => "ok");
    const chat = vlm.startChat();
    await chat.send("Hi").result;
    await chat.send(about(grey(10), "What?")).result;
    await chat.send("And why?").result;
    await chat.send(about(grey(20), "And this?")).result;
    await chat.send("Bye").result;
    expect(prompts().at(-1)).toBe(
      "<s> USER: Hi ASSISTANT: ok USER: <image>\nWhat? ASSISTANT: ok USER: And why? ASSISTANT: ok " +
        "USER: <image>\nAnd this? ASSISTANT: ok USER: Bye ASSISTANT:",
    );
    expect(requests.map((request) => meansOf(request).length)).toEqual([0, 1, 1, 2, 2]);
    expect(meansOf(requests[4]!)).toEqual([expect.closeTo(meanOf(10), 3), expect.closeTo(meanOf(20), 3)]);
    expect(encoder.inferences).toHaveLength(2);
  });

  it("says the same as the messages at once", async () => {
    const { vlm, requests } = await load(() => "ok");
    const chat = vlm.startChat({ system: "Be brief." });
    await chat.send(about(SMALL, "What?")).result;
    await chat.send("Why?").result;
    await vlm.generate(chat.history.slice(0, -1));
    const [, last, whole] = requests;
    expect(whole!.promptIds).toEqual(last!.promptIds);
    expect(whole!.promptRows).toEqual(last!.promptRows);
  });

  it("keeps pictures as they were when they were sent", async () => {
    const { vlm, requests } = await load(() => "ok");
    const pixels = { data: new Uint8Array(grey(10).data), width: 56, height: 56 };
    const bytes = readFileSync(SMALL);
    const chat = vlm.startChat();
    const first = chat.send([...about(pixels, "a"), { type: "image", image: bytes }]);
    pixels.data.fill(200);
    bytes.fill(0);
    await first.result;
    await chat.send("b").result;
    expect(requests[1]!.promptRows!.map(({ key }) => key)).toEqual(requests[0]!.promptRows!.map(({ key }) => key));
    expect(meansOf(requests[1]!)[0]).toBeCloseTo(meanOf(10), 3);
  });

  it("hands out its history as a copy", async () => {
    const { vlm, requests } = await load(() => "ok");
    const chat = vlm.startChat();
    await chat.send(about(SMALL, "a")).result;
    const [message] = chat.history;
    const [part] = message!.content as ImagePart[];
    expect(part).toEqual({ type: "image", image: SMALL });
    part!.image = WIDE;
    await chat.send("b").result;
    await vlm.generate([message!]);
    expect(requests[1]!.promptRows![0]!.key).toBe(requests[0]!.promptRows![0]!.key);
    expect(requests[2]!.promptRows![0]!.key).not.toBe(requests[0]!.promptRows![0]!.key);
  });

  it("forgets a turn whose picture cannot be read, or that was cancelled while it was encoded", async () => {
    const { vlm, encoder, prompts } = await load(() => "ok");
    const chat = vlm.startChat();
    const failure = await failureOf(() => chat.send(about("nowhere.png", "a")).result);
    expect(failure).toBeInstanceOf(MediaError);
    expect((failure as Error).message).toContain("messages[0].content[0].image");
    encoder.hold();
    const turn = chat.send(about(grey(3), "b"));
    while (encoder.waitingCount === 0) await turns(1);
    await turn.cancel();
    expect(chat.history).toEqual([]);
    encoder.release();
    await chat.send("c").result;
    expect(prompts()).toEqual(["<s> USER: c ASSISTANT:"]);
  });

  it("refuses what is no picture when it is sent", async () => {
    const { vlm } = await load();
    const chat = vlm.startChat();
    expect(() => chat.send(about(7 as never, "a"))).toThrow(OptionError);
    expect(() => chat.send(null as never)).toThrow(/a string or an array of text and image parts/);
    expect(chat.busy).toBe(false);
  });
});

describe("edit, undo and fork", () => {
  it("work with pictures", async () => {
    const { vlm, prompts, requests } = await load(() => "ok");
    const chat = vlm.startChat();
    await chat.send(about(grey(10), "a")).result;
    const fork = chat.fork();
    chat.edit(0, about(grey(20), "changed"));
    await chat.send("b").result;
    await fork.send("c").result;
    expect(prompts().slice(1)).toEqual([
      "<s> USER: <image>\nchanged ASSISTANT: ok USER: b ASSISTANT:",
      "<s> USER: <image>\na ASSISTANT: ok USER: c ASSISTANT:",
    ]);
    expect(requests.map((request) => meansOf(request)[0])).toEqual(
      [10, 20, 10].map((level) => expect.closeTo(meanOf(level), 3)),
    );
    chat.undo(2);
    expect(chat.history).toEqual([]);
    expect(() => fork.edit(0, [{ type: "image", image: {} as never }])).toThrow(OptionError);
    expect(fork.history).toHaveLength(4);
  });
});

describe("a saved chat", () => {
  it("is JSON, and goes on as if it had not been saved", async () => {
    const { vlm, requests, prompts } = await load(() => "ok");
    const chat = vlm.startChat({ temperature: 0.5 });
    const pixels = { data: new Float32Array(56 * 56 * 3).fill(0.25), width: 56, height: 56 };
    await chat.send([...about(SMALL, "path"), { type: "image", image: readFileSync(WIDE), alpha: "drop" }]).result;
    await chat.send([...about(pixels, "pixels"), { type: "image_url", image_url: { url: SMALL } }]).result;
    const text = JSON.stringify(chat);
    await chat.send("next").result;
    const restored = vlm.restoreChat(text);
    await restored.send("next").result;
    const [before, after] = requests.slice(-2);
    expect(after!.promptIds).toEqual(before!.promptIds);
    // Pixels come back as a PNG, whose bytes have another key; their rows are the same.
    expect(after!.promptRows!.map(({ rows }) => rows)).toEqual(before!.promptRows!.map(({ rows }) => rows));
    expect(prompts().at(-1)).toBe(prompts().at(-2));
    const saved = JSON.parse(text) as { history: { content: { image?: string; alpha?: string }[] }[] };
    const [path, , bytes] = saved.history[0]!.content;
    expect(path!.image).toBe(SMALL);
    expect(bytes).toMatchObject({ alpha: "drop", image: expect.stringMatching(/^data:image\/png;base64,/) });
    expect(JSON.stringify(restored.toJSON().options)).toBe(JSON.stringify(chat.toJSON().options));
  });

  it("with a picture that is none is refused by name", async () => {
    const { vlm } = await load();
    const history = [{ role: "user", content: [{ type: "image", image: 5 }] }];
    expect(() => vlm.restoreChat({ version: 1, options: {}, history: history as never })).toThrow(
      expect.objectContaining({ path: "chat.history[0].content[0].image" }),
    );
    expect(() => vlm.startChat({ history: history as never })).toThrow(
      expect.objectContaining({ path: "history[0].content[0].image" }),
    );
  });
});

describe("a picture that is kept by its name", () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "pergola-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("stays what it was when it was first seen in a chat, but not for other calls", async () => {
    const { vlm, requests, encoder } = await load(() => "ok");
    const path = join(folder, "picture.png");
    copyFileSync(SMALL, path);
    const chat = vlm.startChat();
    await chat.send(about(path, "a")).result;
    copyFileSync(WIDE, path);
    await chat.send("b").result;
    await vlm.generate("c", { images: [path] });
    const keys = requests.map(({ promptRows }) => promptRows![0]!.key);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
    rmSync(path);
    await chat.send("d").result;
    expect(encoder.inferences).toHaveLength(2);
  });

  it("is fetched once in a chat", async () => {
    let fetched = 0;
    const server = createServer((_, response) => {
      fetched++;
      response.end(readFileSync(SMALL));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const { vlm } = await load(() => "ok");
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/picture.png`;
      const chat = vlm.startChat();
      await chat.send(about(url, "a")).result;
      await chat.send("b").result;
      await chat.send("c").result;
      expect(fetched).toBe(1);
      expect(chat.toJSON().history[0]!.content).toMatchObject([{ image: url }, {}]);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  });

  it("is not spoilt by a turn that was cancelled while it was encoded", async () => {
    const { vlm, encoder } = await load(() => "ok");
    const chat = vlm.startChat({ history: [{ role: "user", content: about(SMALL, "a") }] });
    encoder.hold();
    const turn = chat.send("b");
    while (encoder.waitingCount === 0) await turns(1);
    await turn.cancel();
    encoder.release();
    expect((await chat.send("b").result).text).toBe("ok");
  });

  it("is looked for again after it could not be read", async () => {
    const { vlm } = await load(() => "ok");
    const path = join(folder, "late.png");
    const chat = vlm.startChat({ history: [{ role: "user", content: about(path, "a") }] });
    expect(await failureOf(() => chat.send("b").result)).toBeInstanceOf(MediaError);
    writeFileSync(path, readFileSync(SMALL));
    expect((await chat.send("b").result).text).toBe("ok");
  });
});

describe("RgbImage", () => {
  it("can be sent and saved like any picture", async () => {
    const { vlm, requests } = await load(() => "ok");
    const chat = vlm.startChat();
    await chat.send(about(new RgbImage(56, 56, grey(99).data), "a")).result;
    await vlm.restoreChat(JSON.stringify(chat)).send("b").result;
    expect(meansOf(requests[1]!)).toEqual([expect.closeTo(meanOf(99), 3)]);
  });
});
