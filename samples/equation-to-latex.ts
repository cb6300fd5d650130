// Writes the equation in a picture as LaTeX.
//
//   node scripts/sample.mjs equation-to-latex [IMAGE] [MODEL]
import { VLMPipeline } from "pergola";

const picture = process.argv[2] ?? "samples/media/equation.png";
const model = process.argv[3] ?? "models/Janus-Pro-1B";

const vlm = await VLMPipeline.load(model);
try {
  const { text } = await vlm.generate("Convert the formula into LaTeX code. Answer with the code alone.", {
    images: [picture],
    maxNewTokens: 256,
    temperature: 0,
  });
  // Models like to wrap code in a fence or in dollar signs.
  const latex = text.replace(/^\s*```(?:latex|tex)?\s*|\s*```\s*$/g, "").replace(/^\$+|\$+$/g, "");
  console.log(latex.trim());
} finally {
  await vlm.dispose();
}
