// Writes a Python program that draws the plot in a picture. The program goes to stdout as it comes.
//
//   node scripts/sample.mjs plot-to-code [IMAGE] [MODEL] > plot.py
import { VLMPipeline } from "pergola";

const picture = process.argv[2] ?? "samples/media/plot.png";
const model = process.argv[3] ?? "models/Janus-Pro-1B";

const vlm = await VLMPipeline.load(model);
try {
  const chat = vlm.startChat({ temperature: 0 });
  // Reading the values first makes better programs than asking for the program at once.
  const values = await chat.send(
    [
      { type: "image", image: picture },
      { type: "text", text: "Which kind of plot is this? List its title, its axes and all its values." },
    ],
    { maxNewTokens: 256 },
  ).result;
  for (const line of values.text.trim().split("\n")) console.log(`# ${line}`);

  const program = chat.send("Write a Python program that draws this plot with matplotlib.", { maxNewTokens: 512 });
  process.once("SIGINT", () => void program.stop());
  for await (const chunk of program) process.stdout.write(chunk.text);
  console.log();
} finally {
  await vlm.dispose();
}
