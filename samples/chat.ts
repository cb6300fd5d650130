// A conversation in the terminal. Ctrl-C stops an answer; an empty line or Ctrl-D ends the conversation.
//
//   node scripts/sample.mjs chat [MODEL]
import { createInterface } from "node:readline";
import { LLMPipeline } from "pergola";

const model = process.argv[2] ?? "models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";

const llm = await LLMPipeline.load(model);
const lines = createInterface({ input: process.stdin, output: process.stdout, prompt: "> " });
try {
  const chat = llm.startChat({ system: "You are a helpful assistant. Answer briefly." });
  lines.prompt();
  for await (const line of lines) {
    if (line.trim() === "") break;
    const answer = chat.send(line, { maxNewTokens: 200, temperature: 0 });
    // The terminal hands Ctrl-C to readline while it is open.
    lines.once("SIGINT", () => void answer.stop());
    for await (const chunk of answer) process.stdout.write(chunk.text);
    lines.removeAllListeners("SIGINT");
    process.stdout.write("\n");
    lines.prompt();
  }
} finally {
  lines.close();
  await llm.dispose();
}
