// Prints an answer while it is made, then what it cost. Ctrl-C stops the answer and keeps what came.
//
//   node scripts/sample.mjs stream [MODEL] [PROMPT]
import { LLMPipeline } from "pergola";

const model = process.argv[2] ?? "models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const prompt = process.argv[3] ?? "Why is the sky blue?";

const llm = await LLMPipeline.load(model);
try {
  const stream = llm.stream(prompt, { maxNewTokens: 200, temperature: 0 });
  process.once("SIGINT", () => void stream.stop());
  for await (const chunk of stream) process.stdout.write(chunk.text);

  const { finishReason, usage, metrics } = await stream.result;
  console.log();
  console.log(
    `[${finishReason}: ${usage.promptTokens} + ${usage.completionTokens} tokens, ` +
      `first after ${metrics.ttftMs.toFixed(0)} ms, then ${metrics.tokensPerSecond.toFixed(1)} a second]`,
  );
} finally {
  await llm.dispose();
}
