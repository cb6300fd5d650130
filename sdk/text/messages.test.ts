import { describe, expect, it } from "vitest";
import { z } from "zod";
import { OptionError } from "../core/errors.js";
import { messagesSchema, parseMessages, parseMessagesWith, parseTools, textPartSchema } from "./messages.js";

function refusal(action: () => unknown): OptionError {
  try {
    action();
  } catch (error) {
    expect(error).toBeInstanceOf(OptionError);
    return error as OptionError;
  }
  throw new Error("accepted");
}

const user = { role: "user", content: "Hi" };

describe("parseMessages", () => {
  it("maps developer to system and keeps further fields", () => {
    expect(
      parseMessages([
        { role: "developer", content: "x" },
        { role: "user", content: [{ type: "text", text: "y" }], name: "Ann" },
        { role: "assistant", content: "z", reasoning_content: "r", extra: 1 },
      ]),
    ).toEqual([
      { role: "system", content: "x" },
      { role: "user", content: [{ type: "text", text: "y" }], name: "Ann" },
      { role: "assistant", content: "z", reasoning_content: "r", extra: 1 },
    ]);
  });

  it("takes empty content, and no content where the assistant calls tools", () => {
    expect(parseMessages([{ role: "user", content: "" }])[0]!.content).toBe("");
    for (const content of [null, undefined]) {
      const [message] = parseMessages([{ role: "assistant", content, tool_calls: [{ function: { name: "f" } }] }]);
      expect(message!.content).toBe("");
      expect(refusal(() => parseMessages([{ role: "assistant", content }])).path).toBe("messages[0].content");
    }
  });

  it("makes objects of tool arguments and leaves the caller's messages alone", () => {
    const call = { id: "1", type: "function", function: { name: "f", arguments: '{"a": [1]}' } };
    const messages = [user, { role: "assistant", content: null, tool_calls: [call] }];
    expect(parseMessages(messages)[1]!.tool_calls![0]!.function.arguments).toEqual({ a: [1] });
    expect(call.function.arguments).toBe('{"a": [1]}');
  });

  it.each(["{broken", "[1]", "7", '"{}"', "null"])("refuses tool arguments %j, naming the message", (value) => {
    const calls = [{ function: { name: "f", arguments: value } }];
    const error = refusal(() => parseMessages([user, { role: "assistant", content: null, tool_calls: calls }]));
    expect(error.path).toBe("messages[1].tool_calls[0].function.arguments");
    expect(error.received).toBe(value);
  });

  it.each([
    [[], "messages"],
    ["Hi", "messages"],
    [null, "messages"],
    [[user, "Hi"], "messages[1]"],
    [[null], "messages[0]"],
    [[user, user, { role: "robot", content: "x" }], "messages[2].role"],
    [[{ content: "x" }], "messages[0].role"],
    [[{ role: "user" }], "messages[0].content"],
    [[{ role: "user", content: null }], "messages[0].content"],
    [[{ role: "user", content: 5 }], "messages[0].content"],
    [[{ role: "user", content: [{ type: "text" }] }], "messages[0].content[0].text"],
    [[{ role: "user", content: [{ type: "image", image: "x.png" }] }], "messages[0].content[0].type"],
    [[{ role: "assistant", content: "", tool_calls: [{}] }], "messages[0].tool_calls[0].function"],
    [
      [{ role: "assistant", content: "", tool_calls: [{ function: { name: "" } }] }],
      "messages[0].tool_calls[0].function.name",
    ],
  ])("refuses %j, naming %s", (value, path) => {
    const error = refusal(() => parseMessages(value));
    expect(error.path).toBe(path);
    expect(error.message).toContain(path);
  });

  it("lets a pipeline add part types", () => {
    const image = z.looseObject({ type: z.literal("image"), image: z.string() });
    const schema = messagesSchema(z.discriminatedUnion("type", [textPartSchema, image]));
    const content = [
      { type: "image", image: "cat.png" },
      { type: "text", text: "What is this?" },
    ];
    expect(parseMessagesWith(schema, [{ role: "user", content }])).toEqual([{ role: "user", content }]);
    expect(refusal(() => parseMessagesWith(schema, [{ role: "user", content: [{ type: "x" }] }])).path).toContain(
      "messages[0].content[0]",
    );
  });
});

describe("parseTools", () => {
  it("checks OpenAI's shape", () => {
    const tools = [{ type: "function", function: { name: "f", description: "d", parameters: { type: "object" } } }];
    expect(parseTools(tools)).toEqual(tools);
    expect(refusal(() => parseTools([{ type: "function", function: {} }])).path).toBe("tools[0].function.name");
    expect(refusal(() => parseTools([{ name: "f" }])).path).toBe("tools[0].type");
    expect(refusal(() => parseTools({})).path).toBe("tools");
  });
});
