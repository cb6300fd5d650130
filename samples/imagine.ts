// Makes a picture of what a text describes, with previews while it is made. Ctrl-C stops and keeps what is there.
//
//   node scripts/sample.mjs imagine [PROMPT] [MODEL] [OUT]
import { ImagePipeline } from "pergola";

const prompt = process.argv[2] ?? "A red bicycle leaning against a stone wall, in morning light.";
const model = process.argv[3] ?? "models/Janus-Pro-1B";
const out = process.argv[4] ?? "picture.png";

const image = await ImagePipeline.load(model);
try {
  const stream = image.stream(prompt, { previewEvery: Math.floor(image.info.imageTokens / 4) });
  process.once("SIGINT", () => void stream.stop());
  for await (const { token, of, previews } of stream) {
    if (previews) console.log(`${token} of ${of} tokens`);
    await previews?.[0]?.toFile(out);
  }

  const { images, seeds, complete, metrics } = await stream.result;
  await images[0]?.toFile(out);
  console.log(
    `${out} [${complete ? "complete" : "stopped"}: seed ${seeds[0]}, ${(metrics.durationMs / 1000).toFixed(1)} s]`,
  );
} finally {
  await image.dispose();
}
