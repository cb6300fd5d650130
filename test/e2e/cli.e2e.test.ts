import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { translation } from "./support/golden.js";
import { command, model, root, tinyModel } from "./support/paths.js";
import { pergola, run, RunningChild } from "./support/run.js";

const greedy = ["--temperature", "0"];

describe("help and wrong use", () => {
  it("prints help and ends with 0", async () => {
    const { code, stdout, stderr } = await pergola(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const name of ["chat", "caption", "transcribe", "imagine", "convert", "devices", "doctor", "bench"])
      expect(stdout).toMatch(new RegExp(`^ +${name}\\b`, "m"));
  });

  it("prints its version", async () => {
    const { version } = (await import(path.join(root, "package.json"), { with: { type: "json" } })).default as {
      version: string;
    };
    for (const flag of ["--version", "-v", "-V"]) {
      expect(await pergola([flag])).toMatchObject({ code: 0, stdout: `${version}\n` });
    }
  });

  it.each([
    ["an unknown command", ["chatt"], /unknown command 'chatt'[^]*Did you mean chat\?/],
    [
      "an unknown option",
      ["chat", "--model", "m", "--temprature", "1"],
      /unknown option '--temprature'[^]*Did you mean --temperature\?/,
    ],
    ["no model", ["chat", "--prompt", "x"], /required option '-m, --model <model>' not specified/],
    [
      "no number",
      ["chat", "-m", "m", "-p", "x", "--seed", "abc"],
      /'--seed <n>' argument 'abc' is invalid. It must be a number/,
    ],
    [
      "a value out of range",
      ["chat", "-m", tinyModel, "-p", "x", "-t", "-1"],
      /error: --temperature must be a number from 0 to 2, received -1/,
    ],
    ["a word too many", ["chat", "-m", "m", "Hello", "there"], /no use for "there"/],
    [
      "a wrong choice",
      ["chat", "-m", "m", "-p", "x", "--weights", "int3"],
      /Allowed choices are file, f16, int8, int4/,
    ],
    ["--json without a prompt", ["chat", "-m", "m", "--json"], /There is no prompt/],
    ["an empty stdin", ["chat", "-m", "m"], /There is no prompt: pass --prompt or pipe a text in/],
  ])("ends with 2 and one message for %s", async (_, args, message) => {
    const { code, stdout, stderr } = await pergola(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it.each([
    ["a model that is not there", ["-m", "no/such/model.gguf"], /no\/such\/model\.gguf/],
    ["a device that is not there", ["-m", tinyModel, "-d", "TPU"], /TPU[^]*CPU/],
  ])("ends with 1 and one message for %s", async (_, args, message) => {
    const { code, stdout, stderr } = await pergola(["chat", "-p", "hi", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(message);
    expect(stderr.trimEnd().split("\n")).toHaveLength(1);
  });

  it("prints the stack with PERGOLA_DEBUG=1", async () => {
    const { stderr } = await pergola(["chat", "-p", "hi", "-m", "no-such.gguf"], { env: { PERGOLA_DEBUG: "1" } });
    expect(stderr).toMatch(/ModelError: [^]*\n +at /);
  });
});

describe("one answer", () => {
  it("goes to stdout, and nothing to stderr", async () => {
    const outcome = await pergola(["chat", "-m", model, "-p", translation.prompt, ...greedy]);
    expect(outcome).toEqual({ code: 0, signal: null, stdout: `${translation.text}\n`, stderr: "" });
  });

  it("answers a prompt from stdin", async () => {
    const outcome = await pergola(["chat", "-m", model, ...greedy], { input: `${translation.prompt}\n` });
    expect(outcome).toMatchObject({ code: 0, stdout: `${translation.text}\n`, stderr: "" });
  });

  it("with --json is exactly the result object", async () => {
    const { code, stdout, stderr } = await pergola([
      "chat",
      "-m",
      model,
      "-p",
      translation.prompt,
      "--json",
      ...greedy,
      "--seed",
      "5",
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const result = JSON.parse(stdout) as Record<string, unknown>;
    expect(result).toMatchObject({
      text: translation.text,
      tokens: translation.tokens,
      finishReason: "stop",
      usage: { promptTokens: translation.promptTokens, completionTokens: translation.tokens.length },
      seed: 5,
    });
    expect(Object.keys(result).sort()).toEqual(["finishReason", "metrics", "seed", "text", "tokens", "usage"]);
  });

  it("heeds options: length, stop text, system prompt", async () => {
    const { stdout } = await pergola([
      ...["chat", "-m", model, "-p", translation.prompt, "--json", ...greedy],
      ...["--max-new-tokens", "2"],
    ]);
    expect(JSON.parse(stdout)).toMatchObject({ tokens: translation.tokens.slice(0, 2), finishReason: "length" });
    const stopped = await pergola(["chat", "-m", model, "-p", translation.prompt, ...greedy, "--stop", " bonjour"]);
    expect(stopped.stdout).toBe(`${translation.text.slice(0, translation.text.indexOf(" bonjour"))}\n`);
    // The golden was made with the template's own system prompt, so naming it changes nothing.
    const system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    const same = await pergola(["chat", "-m", model, "-p", translation.prompt, ...greedy, "--system", system]);
    expect(same.stdout).toBe(`${translation.text}\n`);
  });

  it("keeps the same answer for the same seed, and differs for others", async () => {
    const ask = async (seed: string): Promise<string> =>
      (await pergola(["chat", "-m", model, "-p", "Tell me a story.", "-t", "1.2", "-n", "24", "--seed", seed])).stdout;
    const [first, again, other] = [await ask("7"), await ask("7"), await ask("8")];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  it("ends with 130 at SIGINT and keeps what was printed", async () => {
    const child = new RunningChild(process.execPath, [
      command,
      "chat",
      "-m",
      model,
      "-p",
      "Count to one thousand.",
      "-n",
      "4000",
    ]);
    await child.waitFor(/\S+\s+\S+/);
    child.kill("SIGINT");
    const { code, signal, stdout, stderr } = await child.outcome;
    expect({ code, signal, stderr }).toEqual({ code: 130, signal: null, stderr: "" });
    expect(stdout).toMatch(/\S\n$/);
  });

  it("ends quietly when the reader of its output goes away", async () => {
    const child = new RunningChild(process.execPath, [
      command,
      "chat",
      "-m",
      model,
      "-p",
      "Count to one thousand.",
      "-n",
      "4000",
    ]);
    await child.waitFor(/\S+\s+\S+/);
    child.closeOutput();
    expect(await child.outcome).toMatchObject({ code: 0, signal: null, stderr: "" });
  });
});

describe("devices and doctor", () => {
  it("lists CPU", async () => {
    const { code, stdout } = await pergola(["devices", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ name: "CPU", capabilities: expect.arrayContaining(["FP32"]) }),
    );
    expect((await pergola(["devices"])).stdout).toMatch(/^Device .*\nCPU /);
  });

  it("finds this machine and the model in order", async () => {
    const { code, stdout, stderr } = await pergola(["doctor", "--model", model]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/✓ Runtime +OpenVINO 2026\.4/);
    expect(stdout).toMatch(/✓ Devices +.*CPU/);
    expect(stdout).toMatch(/✓ Model +GGUF, 1 file, llama, 97 MB of weights, context \d+ tokens/);
  });

  describe("with something broken", () => {
    let folder: string;
    beforeAll(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-doctor-"))));
    afterAll(() => rm(folder, { recursive: true, force: true }));

    it("lists what a model folder lacks and ends with 1", async () => {
      await writeFile(path.join(folder, "openvino_model.xml"), "<net/>");
      const { code, stdout } = await pergola(["doctor", "--model", folder, "--json"]);
      const report = JSON.parse(stdout) as {
        healthy: boolean;
        checks: { name: string; status: string; details: string }[];
      };
      expect({ code, healthy: report.healthy }).toEqual({ code: 1, healthy: false });
      const finding = report.checks.find(({ name }) => name === "Model");
      expect(finding).toMatchObject({
        status: "problem",
        details: expect.stringMatching(/openvino_model\.bin.*tokenizer\.json/),
      });
    });

    it("explains a missing addon and ends with 1", async () => {
      const { code, stdout } = await pergola(["doctor"], { env: { PERGOLA_NATIVE: path.join(folder, "none.node") } });
      expect(code).toBe(1);
      expect(stdout).toMatch(/✗ Runtime[^]*none\.node/);
    });
  });
});

describe("bench", () => {
  it("prints one figure for each measure", async () => {
    const size = ["--prompt-tokens", "20", "--max-new-tokens", "8", "--runs", "2", "--concurrency", "2"];
    const { code, stdout, stderr } = await pergola(["bench", "llm", "-m", tinyModel, ...size, "--json"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const report = JSON.parse(stdout) as { runs: object[]; summary: Record<string, number> } & Record<string, number>;
    expect(report.runs).toHaveLength(2);
    expect(report.summary["completionTokens"]).toBe(16);
    for (const key of ["loadMs", "weightBytes", "bandwidthBytesPerSecond", "peakRssBytes"])
      expect(report[key]).toBeGreaterThan(0);
    for (const key of ["ttftMs", "tpotMs", "tokensPerSecond"]) expect(report.summary[key]).toBeGreaterThan(0);
  });
});

it("runs as `npx pergola` in the clone", async () => {
  expect(await run("npx", ["--no-install", "pergola", "--version"])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  });
});
