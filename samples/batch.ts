// Answers several prompts together: they share each inference, so all take little longer than one.
//
//   node scripts/sample.mjs batch [MODEL]
import { LLMPipeline } from "pergola";

const model = process.argv[2] ?? "models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
const prompts = ["What is 2+2?", "Translate to French: good morning.", "List three primary colours."];

const llm = await LLMPipeline.load(model);
try {
  const answers = await llm.generate(prompts, { maxNewTokens: 48, temperature: 0 });
  answers.forEach((answer, index) => {
    console.log(`${prompts[index] ?? ""}\n  ${answer.text.replaceAll("\n", "\n  ")}\n`);
  });
} finally {
  await llm.dispose();
}
