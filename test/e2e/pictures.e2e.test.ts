import { cp, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { root } from "./support/paths.js";
import { pergola } from "./support/run.js";
import { pergolaInTerminal } from "./support/terminal.js";

const fixture = (name: string): string => path.join(root, "test", "fixtures", name);
const janus = fixture("janus/tiny-ir");
const shapes = fixture("vlm/llava_shapes-tiny-ir");
const picture = (name: string): string => fixture(`vlm/images/shapes/${name}.png`);
const PROMPT = "A red cube on a blue table.";
const CAPTIONS = ["a yellow square above a blue circle.", "a black triangle left of a black triangle."];

interface Golden {
  t2i: { greedy_tokens: number[] };
}

const golden = JSON.parse(await readFile(fixture("janus/goldens/goldens.json"), "utf8")) as Golden;
const pixels = (file: string): Promise<Buffer> => sharp(file).removeAlpha().raw().toBuffer();

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-pictures-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

const imagine = (...args: string[]): ReturnType<typeof pergola> =>
  pergola(["imagine", PROMPT, "-m", janus, ...args], {
    cwd: folder,
    env: { PERGOLA_CACHE: path.join(folder, "cache") },
  });

describe("imagine", () => {
  it("writes the reference's picture, and prints nothing but its path to stdout", async () => {
    const outcome = await imagine("--temperature", "0", "--out", "cube.png");
    expect(outcome).toMatchObject({
      code: 0,
      stdout: "cube.png\n",
      stderr: expect.stringMatching(/^seed \d+, [\d.]+ s\n$/),
    });
    const [made, expected] = [
      await pixels(path.join(folder, "cube.png")),
      await pixels(fixture("janus/goldens/t2i_greedy.png")),
    ];
    expect(made).toHaveLength(expected.length);
    expect(Math.max(...made.map((value, index) => Math.abs(value - expected[index]!)))).toBeLessThanOrEqual(2);
  });

  it("with --json is exactly the result, with a path for each image", async () => {
    const { code, stdout, stderr } = await imagine("-n", "2", "-t", "0", "--seed", "7", "--json");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(result).sort()).toEqual(["complete", "finishReason", "images", "metrics", "seeds", "tokens"]);
    expect(result).toMatchObject({
      images: ["a-red-cube-on-a-blue-table-1.png", "a-red-cube-on-a-blue-table-2.png"],
      tokens: [golden.t2i.greedy_tokens, golden.t2i.greedy_tokens],
      seeds: [7, 8],
      finishReason: "stop",
      complete: true,
    });
    expect(await readdir(folder)).toEqual(expect.arrayContaining(result["images"] as string[]));
  });

  it("the same seed gives the same picture in another process, alone or among several; another seed another", async () => {
    await imagine("--seed", "1", "-o", "one.png");
    await imagine("--seed", "0", "-n", "3", "-o", "three.webp");
    await imagine("--seed", "1", "-n", "2", "-o", "two.png");
    const [one, again, other] = await Promise.all(
      ["one.png", "two-1.png", "two-2.png"].map((name) => pixels(path.join(folder, name))),
    );
    expect(again!.equals(one!)).toBe(true);
    expect(other!.equals(one!)).toBe(false);
    expect(await sharp(path.join(folder, "three-2.webp")).metadata()).toMatchObject({ format: "webp", width: 32 });
  });

  it("converts a checkpoint the first time and makes the same picture of it", async () => {
    const env = { PERGOLA_CACHE: path.join(folder, "cache") };
    const args = [
      "imagine",
      PROMPT,
      "-m",
      fixture("janus/tiny"),
      "-t",
      "0",
      "--json",
      "-o",
      path.join(folder, "a.png"),
    ];
    for (let time = 0; time < 2; time++) {
      const { code, stdout } = await pergola(args, { env });
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ tokens: [golden.t2i.greedy_tokens] });
    }
  });

  it("shows in a terminal how far it is", async () => {
    const out = path.join(folder, "cube.png");
    const child = pergolaInTerminal(["imagine", PROMPT, "-m", janus, "--no-cache", "-o", out]);
    const { code, stdout } = await child.outcome;
    expect(code).toBe(0);
    expect(stdout).toMatch(/100 % .*16 of 16 tokens/);
    expect(stdout).toContain(out);
  });

  it.each([
    ["a size of guidance that is none", ["--guidance", "-1"], /--guidance must be a number from 0 to 100, received -1/],
    ["no pictures", ["-n", "0"], /--n must be a whole number from 1 to 64/],
    ["an unknown format", ["--out", "a.gif"], /--out takes a file that ends in \.png/],
    ["another size", ["--width", "512"], /unknown option '--width'/],
  ])("%s ends with 2 and one message", async (_, args, message) => {
    const { code, stderr, stdout } = await imagine(...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });

  it("a folder that lacks a part ends with 1 and names it", async () => {
    const broken = path.join(folder, "model");
    await cp(janus, broken, { recursive: true });
    await rm(path.join(broken, "openvino_gen_head_model.bin"));
    const { code, stderr } = await pergola(["imagine", PROMPT, "-m", broken], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .*openvino_gen_head_model\.bin/);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });
});

describe("caption", () => {
  const caption = (...args: string[]): ReturnType<typeof pergola> =>
    pergola(["caption", "-m", shapes, "--no-cache", ...args]);

  it("prints what is to be seen, and nothing to stderr", async () => {
    expect(await caption(picture("00"))).toEqual({ code: 0, signal: null, stdout: `${CAPTIONS[0]}\n`, stderr: "" });
  });

  it("answers a question about each of several; one that cannot be read does not stop the others", async () => {
    const missing = path.join(folder, "none.png");
    const { code, stdout, stderr } = await caption(
      picture("00"),
      missing,
      picture("01"),
      "-p",
      "How many objects are there?",
    );
    expect(code).toBe(1);
    expect(stdout).toBe(`==> ${picture("00")} <==\ntwo.\n\n==> ${missing} <==\n\n==> ${picture("01")} <==\ntwo.\n`);
    expect(stderr).toMatch(/^error: .*none\.png: there is no such file[^\n]*\n$/);
  });

  it("reads a picture from stdin, and prints the result object as JSON", async () => {
    const { code, stdout, stderr } = await pergola(["caption", "-", "-m", shapes, "--no-cache", "--json"], {
      input: await readFile(picture("01")),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(Object.keys(result).sort()).toEqual(["finishReason", "metrics", "seed", "text", "tokens", "usage"]);
    expect(result).toMatchObject({ text: CAPTIONS[1], finishReason: "stop" });
  });

  it("describes with Janus, whose folder also makes pictures", async () => {
    const { code, stdout } = await pergola([
      "caption",
      picture("00"),
      "-m",
      janus,
      "--no-cache",
      "-n",
      "4",
      "-t",
      "0",
      "--json",
    ]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ finishReason: "length", usage: { completionTokens: 4 } });
  });

  it("an audio model is told to be none", async () => {
    const { code, stderr } = await pergola(["caption", picture("00"), "-m", fixture("whisper/tiny-ir")]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: [^\n]+\n$/);
  });
});

describe("bench", () => {
  it("vlm prints init time, first-token latency, throughput and memory", async () => {
    const args = ["bench", "vlm", "-m", shapes, "--image", picture("00"), "--prompt", "Describe the image."];
    const { code, stdout, stderr } = await pergola([
      ...args,
      "--runs",
      "2",
      "--max-new-tokens",
      "6",
      "--no-cache",
      "--json",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const report = JSON.parse(stdout) as { runs: Record<string, number>[]; average: Record<string, number> } & Record<
      string,
      number
    >;
    expect(report.runs).toHaveLength(2);
    expect(report.average).toMatchObject({ promptTokens: 24, completionTokens: 6 });
    for (const key of ["loadMs", "peakRssBytes"]) expect(report[key]).toBeGreaterThan(0);
    // No run may find the picture of the one before.
    for (const run of report.runs) {
      for (const key of ["firstTokenMs", "preprocessMs", "encodeMs", "prefillMs", "laterTokenMs", "tokensPerSecond"]) {
        expect(run[key]).toBeGreaterThan(0);
      }
    }
  });

  it("image prints init time, picture latency and memory", async () => {
    const { code, stdout, stderr } = await pergola([
      "bench",
      "image",
      "-m",
      janus,
      "--runs",
      "2",
      "-n",
      "2",
      "--no-cache",
      "--json",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const report = JSON.parse(stdout) as { runs: object[]; average: Record<string, number> } & Record<string, number>;
    expect(report.runs).toHaveLength(2);
    expect(report).toMatchObject({ n: 2, guidance: 5, imageTokens: 16 });
    for (const key of ["loadMs", "peakRssBytes", "stepWeightBytes"]) expect(report[key]).toBeGreaterThan(0);
    for (const key of ["pictureMs", "firstTokenMs", "stepMs", "tokensPerSecond", "decodeMs"]) {
      expect(report.average[key]).toBeGreaterThan(0);
    }
  });
});

it.each([
  ["janus/tiny-ir", /OpenVINO IR, janus, .* for VLMPipeline and ImagePipeline/],
  ["janus/tiny", /checkpoint to convert \(safetensors\), 1 file, janus, .* for VLMPipeline and ImagePipeline/],
  ["vlm/llava_shapes-tiny-ir", /OpenVINO IR, llava, .* for VLMPipeline/],
  ["whisper/tiny-ir", /OpenVINO IR, whisper, .* for WhisperPipeline/],
])("the doctor knows %s", async (model, expected) => {
  const { code, stdout } = await pergola(["doctor", "-m", fixture(model)]);
  expect(code).toBe(0);
  expect(stdout).toMatch(expected);
});
