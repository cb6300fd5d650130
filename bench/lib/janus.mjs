import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { inRoot } from "../../scripts/lib/paths.mjs";
import { Child } from "./child.mjs";
import { EXACT } from "./contestants.mjs";
import { benchDir, python } from "./peers.mjs";
import { median } from "./statistics.mjs";

/** Formats that the checkpoint is converted to. */
export const FORMATS = ["int8", "int4"];

/** Of a whole picture. */
export const IMAGE_TOKENS = 576;
/** Rows of one and of four pictures: guidance takes two for each. */
export const ROWS = { 1: 2, 4: 8 };
/** A prompt as people write them. */
export const PROMPT_TOKENS = 20;
/** Context in the middle of a picture, whose step stands for all. */
const MIDDLE = PROMPT_TOKENS + IMAGE_TOKENS / 2;

/** The checkpoint that bench/make-janus.mjs writes, or another one that the user names. */
export const checkpoint = () => path.resolve(process.env.PERGOLA_BENCH_JANUS ?? path.join(benchDir, "janus-1b"));
export const checkpointIsPresent = () => existsSync(path.join(checkpoint(), "config.json"));

export const convertedFolder = (weights) => path.join(benchDir, `${path.basename(checkpoint())}-${weights}`);
/** Compiled models, apart from the others' because they are large: they are removed when a model is converted anew. */
export const janusCache = path.join(benchDir, "janus-cache");

const graphBytes = (folder, name) => statSync(path.join(folder, `openvino_${name}.bin`)).size;

/** Bytes of weights that each step must read: the language model's and the head's. */
export function stepBytes(weights) {
  const folder = convertedFolder(weights);
  return graphBytes(folder, "language_model") + graphBytes(folder, "gen_head_model");
}

const worker = (name) => inRoot("bench", "workers", name);
export const startPergola = () => new Child(process.execPath, [worker("pergola-janus.mjs")]);

async function opened(child, request) {
  const answer = await child.ask({ command: "open", ...request });
  return { child, ...answer };
}

/** Our pipeline on the converted model, in a fresh process. */
export const openPergola = (weights) =>
  opened(startPergola(), { model: convertedFolder(weights), options: { cache: janusCache } });

/** The language model of the same folder, run by OpenVINO without us, computing as we do. */
export const openStep = (weights) =>
  opened(new Child(python, [worker("openvino-step.py")]), { model: convertedFolder(weights), properties: EXACT });

/** The reference on the checkpoint itself, f32. */
export const openTransformers = () =>
  opened(new Child(python, [worker("transformers-janus.py")]), { model: checkpoint() });

/** Mean time of steps at the beginning of one and of four pictures, which takes twice as long. */
async function bothSteps(steps, stepOf) {
  return { 1: await stepOf(1, steps), 4: await stepOf(4, Math.ceil(steps / 2)) };
}

/** What one contestant is asked in a round. `step` is at the beginning of a picture, after the same context for all. */
export const MEASURES = {
  async pergola(child, { steps }) {
    const first = {};
    const step = await bothSteps(steps, async (n, count) => {
      const answer = await child.ask({ command: "begin", n, promptTokens: PROMPT_TOKENS, steps: count });
      first[n] = answer.firstMs;
      return answer.stepMs;
    });
    return { first, step, decodeMs: (await child.ask({ command: "decode" })).totalMs };
  },
  async bare(child, { steps }) {
    const at = (context) =>
      bothSteps(steps, async (n, count) => {
        const answer = await child.ask({ command: "steps", rows: ROWS[n], context: context(count), steps: count });
        return answer.stepMs;
      });
    return { step: await at(() => PROMPT_TOKENS), middleStep: await at((count) => Math.round(MIDDLE - count / 2)) };
  },
  async transformers(child, { steps }) {
    // Its cache has the same length from the beginning, so every step takes the same time.
    const request = { command: "begin", promptTokens: PROMPT_TOKENS, steps: Math.ceil(steps / 2) };
    const { firstMs, stepMs } = await child.ask(request);
    return {
      first: { 1: firstMs },
      step: { 1: stepMs },
      decodeMs: (await child.ask({ command: "decode" })).totalMs,
    };
  },
};

/** How much longer a step takes in the middle of a picture than at its beginning, by the bare language model. */
export function lateness(samples, n) {
  const medianOf = (pick) => median(samples.bare.map(pick));
  return Math.max(0, medianOf(({ middleStep }) => middleStep[n]) - medianOf(({ step }) => step[n]));
}

/** Time until the tokens of one or four pictures are made, from its first token and the mean of its steps. */
export const tokensMs = ({ first, step }, late, n = 1) => first[n] + (IMAGE_TOKENS - 1) * (step[n] + late);

/** Time of one or four whole pictures; they are decoded one after the other. */
export const pictureMs = (sample, late, n = 1) => tokensMs(sample, late, n) + n * sample.decodeMs;
