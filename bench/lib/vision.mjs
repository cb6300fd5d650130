import { randomFillSync } from "node:crypto";
import path from "node:path";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { writeAtomic } from "../../scripts/lib/stamp.mjs";
import { Child } from "./child.mjs";
import { EXACT } from "./contestants.mjs";
import { benchDir, pergolaCache, python } from "./peers.mjs";

/** IR folders that the repository carries for its tests; small, so that everything beside the arithmetic shows. */
export const VISION_MODELS = {
  llava_shapes: inRoot("test", "fixtures", "vlm", "llava_shapes-tiny-ir"),
  llava: inRoot("test", "fixtures", "vlm", "llava-tiny-ir"),
};

/** Sizes of pictures: one that hardly needs preparation, and one as cameras make them, much reduced. */
export const PICTURES = { small: { width: 224, height: 224 }, large: { width: 1280, height: 960 } };

/** Both are asked about each picture, in this order. */
export const QUESTIONS = ["Describe the image.", "How many objects are there?"];

/**
 * Raw pixels in files that every worker can read. They are noise, new ones in each round: no cache knows them, and the time does
 * not depend on what a picture shows.
 */
export function writePictures() {
  return Object.entries(PICTURES).map(([name, { width, height }]) => {
    const file = path.join(benchDir, `picture-${name}.rgb`);
    writeAtomic(file, randomFillSync(Buffer.alloc(width * height * 3)));
    return { name, file, width, height };
  });
}

const pergola = (label, options = {}) => ({
  label: `Pergola, ${label}`,
  start: () => new Child(process.execPath, [inRoot("bench", "workers", "pergola-vision.mjs")]),
  options: { options: { ...options, cache: pergolaCache } },
});
const genai = (label, options = {}) => ({
  label: `openvino_genai, ${label}`,
  start: () => new Child(python, [inRoot("bench", "workers", "genai-vision.py")]),
  options,
});

/** Ways of running a model, each in a process of its own. */
export const VISION_CONTESTANTS = {
  pergola: pergola("defaults"),
  genai: genai("defaults"),
  "genai-exact": genai("f32 as Pergola", { properties: EXACT }),
};

/** The processes of one model, all open at once so that they can take turns. */
export async function openVision(model) {
  const open = new Map();
  for (const [id, { start, options }] of Object.entries(VISION_CONTESTANTS)) {
    const child = start();
    open.set(id, child);
    await child.ask({ command: "open", model: VISION_MODELS[model], ...options });
  }
  return {
    ask: (id, request) => open.get(id).ask({ command: "ask", ...request }),
    close: () => Promise.all([...open.values()].map((child) => child.close())),
  };
}
