import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ImagePipeline, VLMPipeline } from "./index.js";
import { janusFixture, janusGoldens } from "./testing/janus-fixture.js";

interface Golden {
  t2i: { greedy_tokens: number[] };
  text_only: { greedy_16: number[] };
}

const golden = janusGoldens() as unknown as Golden;
const PICTURE = "A red cube on a blue table.";
const QUESTION = "Hello, 42!";
const greedy = { temperature: 0 } as const;

let cache: string;
beforeAll(() => (cache = mkdtempSync(join(tmpdir(), "pergola-sharing-"))));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

it.each(["tiny-ir", "tiny"])(
  "two pipelines on %s share the language model, work at once, and go one by one",
  async (name) => {
    const folder = janusFixture(name);
    const [image, vlm] = await Promise.all([
      ImagePipeline.load(folder, { cache }),
      VLMPipeline.load(folder, { cache }),
    ]);
    expect([image.info.shared, vlm.info.shared].filter(Boolean)).toHaveLength(1);
    const answer = (): Promise<number[]> =>
      vlm.generate(QUESTION, { ...greedy, maxNewTokens: 16 }).then(({ tokens }) => tokens);
    const [picture, text, another] = await Promise.all([
      image.generate(PICTURE, greedy),
      answer(),
      image.generate(PICTURE, { ...greedy, n: 2 }),
    ]);
    expect(picture.tokens[0]).toEqual(golden.t2i.greedy_tokens);
    expect(another.tokens).toEqual([golden.t2i.greedy_tokens, golden.t2i.greedy_tokens]);
    expect(text).toEqual(golden.text_only.greedy_16);
    await image.dispose();
    expect(await answer()).toEqual(golden.text_only.greedy_16);
    await using third = await ImagePipeline.load(folder, { cache });
    expect(third.info.shared).toBe(true);
    await vlm.dispose();
    expect((await third.generate(PICTURE, greedy)).tokens[0]).toEqual(golden.t2i.greedy_tokens);
  },
);
