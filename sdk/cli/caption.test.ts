import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  MediaError,
  OptionError,
  PipelineStream,
  type VLMChunk,
  type VLMMessage,
  type VLMOptions,
  type VLMResult,
} from "../index.js";
import { collectingTerminal, type CollectingTerminal } from "../testing/collecting-terminal.js";
import { captionFiles, type Captioner, type CaptionStream } from "./caption.js";
import { Interrupted } from "./exit-codes.js";
import { Interrupts } from "./interrupts.js";

function result(text: string): VLMResult {
  const stages = { tokenize: 0, preprocess: 1, encode: 2, prefill: 3, decode: 4, detokenize: 0 };
  return {
    text,
    tokens: [1],
    finishReason: "stop",
    usage: { promptTokens: 1, cachedPromptTokens: 0, completionTokens: 1 },
    seed: 0,
    metrics: { loadMs: 1, ttftMs: 2, tpotMs: 3, tokensPerSecond: 4, durationMs: 5, queueMs: 0, stages },
  };
}

/** Gives each picture its text, or its error. */
class ScriptedCaptioner implements Captioner {
  readonly calls: { prompt: VLMMessage[]; options: VLMOptions }[] = [];
  beforeWord: (index: number) => unknown = () => undefined;

  constructor(private readonly script: Record<string, string | Error>) {}

  stream(prompt: VLMMessage[], options: VLMOptions): CaptionStream {
    this.calls.push({ prompt, options });
    const { image } = (prompt[0]!.content as unknown as { image: unknown }[])[0]!;
    const outcome = this.script[typeof image === "string" ? image : "-"]!;
    return PipelineStream.start<VLMChunk, VLMResult>(async (control) => {
      if (outcome instanceof Error) throw outcome;
      let text = "";
      for (const [index, word] of outcome.split(/(?= )/).entries()) {
        await setImmediate();
        this.beforeWord(index);
        if (control.ending) break;
        text += word;
        control.push({ text: word } as VLMChunk);
      }
      return result(text);
    });
  }
}

let terminal: CollectingTerminal;
let interrupts: Interrupts;
beforeEach(() => {
  terminal = collectingTerminal();
  interrupts = new Interrupts();
});
afterEach(() => interrupts.close());

async function run(
  script: Record<string, string | Error>,
  json = false,
  prepare: (vlm: ScriptedCaptioner) => void = () => undefined,
): Promise<{ failures: number; vlm: ScriptedCaptioner }> {
  const vlm = new ScriptedCaptioner(script);
  prepare(vlm);
  const question = { prompt: "What is this?", options: { maxNewTokens: 9 }, json };
  const failures = await captionFiles(Object.keys(script), vlm, question, { terminal, interrupts });
  return { failures, vlm };
}

describe("caption", () => {
  it("asks the prompt about the picture and prints text as it comes", async () => {
    const seen: string[] = [];
    const { vlm, failures } = await run({ "a.png": "a red cube" }, false, (captioner) => {
      captioner.beforeWord = () => seen.push(terminal.printed());
    });
    expect(vlm.calls).toEqual([
      {
        prompt: [
          {
            role: "user",
            content: [
              { type: "image", image: "a.png" },
              { type: "text", text: "What is this?" },
            ],
          },
        ],
        options: { maxNewTokens: 9 },
      },
    ]);
    expect(failures).toBe(0);
    expect(seen).toEqual(["", "a", "a red"]);
    expect(terminal.printed()).toBe("a red cube\n");
  });

  it("several stand under their names, and what failed is told", async () => {
    const { failures } = await run({
      "a.png": "one",
      "b.png": new MediaError("messages[0].content[0].image: This is not an image."),
      "c.png": new OptionError("image must be …", { path: "messages[0].content[0].image", expected: "", received: 0 }),
      "d.png": "two",
    });
    expect(failures).toBe(2);
    expect(terminal.printed()).toBe("==> a.png <==\none\n\n==> b.png <==\n\n==> c.png <==\n\n==> d.png <==\ntwo\n");
    expect(terminal.reported()).toBe("error: b.png: This is not an image.\nerror: c.png: image must be …\n");
  });

  it("a file without a name is called stdin wherever the value is named", async () => {
    for (const [told, expected] of [
      [
        "Cannot read an image from messages[0].content[0].image: it is empty.",
        "Cannot read an image from stdin: it is empty.",
      ],
      ["messages[0].content[0].image: This is not an image.", "stdin: This is not an image."],
    ]) {
      terminal = collectingTerminal();
      terminal.input.push(null);
      await run({ "-": new MediaError(told!) });
      expect(terminal.reported()).toBe(`error: ${expected}\n`);
    }
  });

  it("--json is exactly the result; of several an array with null for what failed", async () => {
    await run({ "a.png": "one" }, true);
    expect(JSON.parse(terminal.printed())).toEqual(result("one"));
    terminal = collectingTerminal();
    await run({ "a.png": "one", "b.png": new MediaError("no"), "c.png": "three" }, true);
    expect(JSON.parse(terminal.printed())).toEqual([result("one"), null, result("three")]);
  });

  it("reads one from stdin", async () => {
    terminal.input.push(Buffer.from("bytes of a picture"));
    terminal.input.push(null);
    const { vlm } = await run({ "-": "from stdin" });
    const { image } = (vlm.calls[0]!.prompt[0]!.content as unknown as { image: Buffer }[])[0]!;
    expect(image.toString()).toBe("bytes of a picture");
    expect(terminal.printed()).toBe("from stdin\n");
  });

  it("wrong options end everything", async () => {
    const error = new OptionError("no", { path: "temperature", expected: "", received: -1 });
    await expect(run({ "a.png": error, "b.png": "two" })).rejects.toBe(error);
  });

  it("Ctrl-C keeps what came and leaves out the rest", async () => {
    const call = run({ "a.png": "one two three", "b.png": "four" }, false, (captioner) => {
      captioner.beforeWord = (index) => index === 2 && process.emit("SIGINT");
    });
    await expect(call).rejects.toBeInstanceOf(Interrupted);
    expect(terminal.printed()).toBe("==> a.png <==\none two\n");
  });
});
