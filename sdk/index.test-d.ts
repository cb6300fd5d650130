import { describe, expectTypeOf, it } from "vitest";
import type {
  ChatOptions,
  ConversionProgress,
  ConvertOptions,
  FinishReason,
  LLMChunk,
  LLMLoadOptions,
  LLMOptions,
  LLMResult,
  Message,
  Prompt,
  ToolDefinition,
} from "./index.js";
import { ChatSession, convertModel, LLMPipeline, OptionError, PergolaError, PipelineStream } from "./index.js";

declare const llm: LLMPipeline;
declare const chat: ChatSession;

describe("generate", () => {
  it("gives one result for one prompt, and an array for an array", () => {
    const messages: Message[] = [{ role: "user", content: "Hi" }];
    expectTypeOf(llm.generate("Hi")).resolves.toEqualTypeOf<LLMResult>();
    expectTypeOf(llm.generate(messages)).resolves.toEqualTypeOf<LLMResult>();
    expectTypeOf(llm.generate([{ role: "user", content: "Hi" }])).resolves.toEqualTypeOf<LLMResult>();
    expectTypeOf(llm.generate(["a", "b"])).resolves.toEqualTypeOf<LLMResult[]>();
    expectTypeOf(llm.generate(["a", messages])).resolves.toEqualTypeOf<LLMResult[]>();
    expectTypeOf(llm.generate([messages, messages])).resolves.toEqualTypeOf<LLMResult[]>();
    expectTypeOf(llm.generate([])).resolves.toEqualTypeOf<LLMResult[]>();
    const either = "a" as Prompt | Prompt[];
    expectTypeOf(llm.generate(either)).resolves.toEqualTypeOf<LLMResult | LLMResult[]>();
  });

  it("rejects unknown names and wrong values", () => {
    // @ts-expect-error a name of other software
    void llm.generate("Hi", { max_tokens: 5 });
    // @ts-expect-error a number is needed
    void llm.generate("Hi", { maxNewTokens: "5" });
    // @ts-expect-error null is no value
    void llm.generate("Hi", { temperature: null });
    // @ts-expect-error no such role
    void llm.generate([{ role: "wizard", content: "Hi" }]);
    // @ts-expect-error a prompt is needed
    void llm.generate();
    // @ts-expect-error load options have no sampling
    void LLMPipeline.load("x", { temperature: 1 });
    // @ts-expect-error there is no public constructor
    expectTypeOf(new LLMPipeline()).not.toBeAny();
    void llm.generate("Hi", { temperature: undefined, stop: ["a"] as const, signal: new AbortController().signal });
  });
});

describe("stream and chat", () => {
  it("give chunks and a result", () => {
    const stream = llm.stream("Hi");
    expectTypeOf(stream).toEqualTypeOf<PipelineStream<LLMChunk, LLMResult>>();
    expectTypeOf(stream.result).resolves.toEqualTypeOf<LLMResult>();
    expectTypeOf(stream).toExtend<AsyncIterable<LLMChunk>>();
    expectTypeOf(chat.send("Hi")).toEqualTypeOf<PipelineStream<LLMChunk, LLMResult>>();
    expectTypeOf(chat.history).toEqualTypeOf<Message[]>();
    // @ts-expect-error one prompt only
    llm.stream(["a", "b"]);
    // @ts-expect-error a chat always uses the template
    chat.send("Hi", { applyChatTemplate: false });
  });

  it("are not constructed", () => {
    // @ts-expect-error startChat() makes chats
    new ChatSession();
    // @ts-expect-error stream() makes streams
    new PipelineStream();
    // @ts-expect-error with work of one's own neither
    new PipelineStream(() => Promise.resolve("a"), {});
  });

  it("tell finish reasons and usage", () => {
    expectTypeOf<LLMResult["finishReason"]>().toEqualTypeOf<FinishReason>();
    expectTypeOf<FinishReason>().toEqualTypeOf<"stop" | "length" | "tool-calls" | "cancelled">();
    expectTypeOf<LLMResult["usage"]["cachedPromptTokens"]>().toBeNumber();
    expectTypeOf<LLMOptions["seed"]>().toEqualTypeOf<number | undefined>();
  });
});

describe("models", () => {
  it("tell of their progress in objects", () => {
    void convertModel("a", "b", {
      onProgress: (progress) => expectTypeOf(progress).toEqualTypeOf<ConversionProgress>(),
    });
    void LLMPipeline.load("a", { onProgress: ({ fraction }) => expectTypeOf(fraction).toBeNumber() });
  });

  it("have weights in one of four forms", () => {
    expectTypeOf<LLMLoadOptions["weights"]>().toEqualTypeOf<"file" | "f16" | "int8" | "int4" | undefined>();
    expectTypeOf<ConvertOptions["weights"]>().toEqualTypeOf<LLMLoadOptions["weights"]>();
  });
});

describe("messages and tools", () => {
  it("are written in the exported types", () => {
    const tools: ToolDefinition[] = [
      { type: "function", function: { name: "weather", parameters: { type: "object" } } },
    ];
    const history: Message[] = [{ role: "user", content: "Hi" }];
    void llm.generate("Hi", { tools });
    void llm.startChat({ tools, history });
    void llm.startChat({ history: chat.history });
    chat.send("Hi", { tools: Object.freeze(tools) });
    expectTypeOf<LLMOptions["tools"]>().toEqualTypeOf<readonly ToolDefinition[] | undefined>();
    expectTypeOf<ChatOptions["history"]>().toEqualTypeOf<readonly Message[] | undefined>();
    // @ts-expect-error a tool has a type and a function
    void llm.generate("Hi", { tools: [{ name: "weather" }] });
    // @ts-expect-error no message
    void llm.startChat({ history: ["Hi"] });
  });
});

describe("errors", () => {
  it("isInstance narrows to the class", () => {
    const error: unknown = undefined;
    if (OptionError.isInstance(error)) expectTypeOf(error).toEqualTypeOf<OptionError>();
    if (PergolaError.isInstance(error)) expectTypeOf(error.code).toExtend<string>();
  });
});

describe("explain", () => {
  it("is at hand without a prompt, and a promise with one", () => {
    expectTypeOf(llm.explain({ temperature: 0 }).notes).toEqualTypeOf<string[]>();
    expectTypeOf(llm.explain({ prompt: "Hi" })).resolves.toHaveProperty("options");
  });
});
