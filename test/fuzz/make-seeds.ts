import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bytesOfArray, floatTensor, modelBin, safetensorsFile } from "../../sdk/testing/checkpoint-builders.js";
import { GgufBuilder } from "../../sdk/testing/gguf-builder.js";

const text = new URL("../fixtures/text/", import.meta.url);

/** Small files of each format, made of the fixtures and by the builders of the tests. */
export function makeSeeds(folder: string): void {
  const write = (target: string, name: string, content: string | Uint8Array): void => {
    mkdirSync(path.join(folder, target), { recursive: true });
    writeFileSync(path.join(folder, target, name), content);
  };
  write("gguf", "bpe", gguf());
  write("safetensors", "two-tensors", safetensorsFile([floatTensor("a.weight", [2, 3]), floatTensor("b", [4])]));
  const values = bytesOfArray(Float32Array.of(1, 2, 3, 4));
  const one = { name: "encoder/num_heads", shape: [], type: 1, bytes: Uint8Array.of(2) };
  const matrix = { name: "decoder/embeddings/weight", shape: [2, 2], type: 0, bytes: values };
  for (const version of [2, 3, 6])
    write(
      "ctranslate2",
      `version-${version}`,
      modelBin({
        version,
        variables: [one, matrix],
        ...(version >= 3 && { aliases: [["decoder/projection/weight", matrix.name]] }),
      }),
    );

  const { templates } = JSON.parse(readFileSync(new URL("chat-templates.json", text), "utf8")) as {
    templates: Record<string, unknown>;
  };
  for (const [name, template] of Object.entries(templates)) {
    const content = typeof template === "string" ? template : undefined;
    if (content !== undefined && content.length < 4000) write("chat-template", name.replaceAll(" ", "-"), content);
  }
  const { variants } = JSON.parse(readFileSync(new URL("tokenizer-json.json", text), "utf8")) as {
    variants: Record<string, { tokenizer: unknown }>;
  };
  for (const [name, { tokenizer }] of Object.entries(variants)) {
    const content = JSON.stringify(tokenizer);
    if (content.length < 12_000) write("tokenizer-json", name.replaceAll(/[^\w]+/g, "-"), content);
  }
  const history = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    { role: "assistant", content: "Hi", toolCalls: [] },
  ];
  write(
    "chat-json",
    "chat",
    JSON.stringify({ version: 1, options: { temperature: 0.5, maxNewTokens: 8, stop: ["x"] }, history }),
  );
  write("chat-json", "empty", JSON.stringify({ version: 1, options: {}, history: [] }));
  write(
    "chat-json",
    "turns",
    JSON.stringify({
      version: 1,
      options: { seed: 1 },
      history: history.slice(0, 1).concat([{ role: "user", content: "a" }]),
    }),
  );
  write("ir-names", "plain", "model.layers.0.self_attn/q_proj");
  write("ir-names", "odd", `a<b>&"c'\n`);
}

function gguf(): Uint8Array {
  const bytes = Array.from({ length: 256 }, (_, index) => byteLevel(index));
  const tokens = [...bytes, "He", "ll", "<|im_end|>"];
  return new GgufBuilder()
    .set("general.architecture", { type: "string", value: "llama" })
    .set("llama.context_length", { type: "u32", value: 128 })
    .set("tokenizer.ggml.model", { type: "string", value: "gpt2" })
    .set("tokenizer.ggml.pre", { type: "string", value: "llama-bpe" })
    .set("tokenizer.ggml.tokens", { type: "strings", value: tokens })
    .set("tokenizer.ggml.token_type", { type: "i32s", value: tokens.map((_, id) => (id === 258 ? 3 : 1)) })
    .set("tokenizer.ggml.merges", { type: "strings", value: ["H e", "l l"] })
    .set("tokenizer.ggml.eos_token_id", { type: "u32", value: 258 })
    .set("tokenizer.chat_template", { type: "string", value: "{{ messages[0].content }}" })
    .tensor({ name: "token_embd.weight", dimensions: [2, 3] })
    .build();
}

/** GPT-2's spelling of a byte. */
function byteLevel(byte: number): string {
  const plain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  return String.fromCharCode(plain ? byte : byte < 33 ? 256 + byte : byte < 161 ? 256 + byte - 127 + 33 : 323);
}
