// Describes a picture, then asks about it: the second question finds the picture in the cache and starts at once.
//
//   node scripts/sample.mjs caption [IMAGE] [MODEL] [QUESTION]
import { VLMPipeline } from "pergola";

const picture = process.argv[2] ?? "test/fixtures/vlm/images/shapes/00.png";
const model = process.argv[3] ?? "test/fixtures/vlm/llava_shapes-tiny-ir";
const question = process.argv[4] ?? "How many objects are there?";

const vlm = await VLMPipeline.load(model);
try {
  for (const text of ["Describe the image.", question]) {
    const stream = vlm.stream([
      {
        role: "user",
        content: [
          { type: "image", image: picture },
          { type: "text", text },
        ],
      },
    ]);
    console.log(`> ${text}`);
    for await (const chunk of stream) process.stdout.write(chunk.text);
    const { metrics } = await stream.result;
    console.log(`\n[first token after ${metrics.ttftMs.toFixed(0)} ms]`);
  }
} finally {
  await vlm.dispose();
}
