import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { janusFixture } from "../testing/janus-fixture.js";
import { visionFixture } from "../testing/vlm-fixtures.js";
import type { VLMMessage } from "./vlm-messages.js";
import { VLMPipeline } from "./vlm-pipeline.js";

const EXACT = { cache: false, kvCache: { precision: "f32" } } as const;
const OPTIONS = { temperature: 0, maxNewTokens: 12, ignoreEos: true } as const;

const MODELS = [
  {
    name: "LLaVA 1.5",
    folder: visionFixture("vlm/llava-tiny-ir"),
    pictures: ["small", "tall", "wide"].map((name) => visionFixture(`vlm/images/${name}.png`)),
  },
  {
    name: "Janus",
    folder: janusFixture("tiny-ir"),
    pictures: [
      janusFixture("goldens/image_a_rgba.png"),
      janusFixture("goldens/image_b_exif6.jpg"),
      visionFixture("vlm/images/wide.png"),
    ],
  },
];

// Bug reports F9: several pictures, several turns.
describe.each(MODELS)("$name", ({ folder, pictures }) => {
  let vlm: VLMPipeline;
  beforeAll(async () => {
    vlm = await VLMPipeline.load(folder, EXACT);
  });
  afterAll(() => vlm.dispose());

  const ask = (images: readonly (string | Buffer)[], text = "What do they show?"): VLMMessage[] => [
    { role: "user", content: [...images.map((image) => ({ type: "image" as const, image })), { type: "text", text }] },
  ];
  const tokensOf = async (messages: VLMMessage[]): Promise<number[]> => (await vlm.generate(messages, OPTIONS)).tokens;

  it("sees every picture of a turn, in its order", async () => {
    const [a, b, c] = pictures as [string, string, string];
    const straight = await tokensOf(ask([a, b, c]));
    expect(await tokensOf(ask([a, b, c]))).toEqual(straight);
    for (const other of [
      [b, a, c],
      [a, c, b],
      [a, b, b],
      [c, b, c],
    ]) {
      expect(await tokensOf(ask(other))).not.toEqual(straight);
    }
  });

  it("takes the same bytes twice for the same picture", async () => {
    const [a] = pictures as [string];
    const bytes = readFileSync(a);
    expect(await tokensOf(ask([bytes, bytes]))).toEqual(await tokensOf(ask([a, a])));
  });

  it("answers picture, text, picture, text by chat as by messages, and reuses what is computed", async () => {
    const chat = vlm.startChat();
    const [a, b] = pictures as [string, string];
    const turns = [ask([a], "First?"), "Second?", ask([b], "Third?"), "Fourth?"];
    const history: VLMMessage[] = [];
    for (const [index, turn] of turns.entries()) {
      const message: VLMMessage = typeof turn === "string" ? { role: "user", content: turn } : turn[0]!;
      const result = await chat.send(message.content as string, OPTIONS).result;
      history.push(message);
      const fresh = await VLMPipeline.load(folder, { ...EXACT, prefixCaching: false });
      expect(result.tokens).toEqual((await fresh.generate(history, OPTIONS)).tokens);
      await fresh.dispose();
      history.push({ role: "assistant", content: result.text });
      if (index > 0) expect(result.usage.cachedPromptTokens).toBeGreaterThan(0);
    }
  });

  it("computes only what is new of a further question about the same pictures", async () => {
    // Two pictures: of the tokens of one, too few for a block of the cache.
    const shown = pictures.slice(1);
    await vlm.generate(ask(shown, "One question that comes first?"), OPTIONS);
    const again = await vlm.generate(ask(shown, "Another one."), OPTIONS);
    expect(again.usage.cachedPromptTokens).toBeGreaterThan(0);
    const fresh = await VLMPipeline.load(folder, { ...EXACT, prefixCaching: false });
    expect(again.tokens).toEqual((await fresh.generate(ask(shown, "Another one."), OPTIONS)).tokens);
    await fresh.dispose();
  });

  it("keeps apart pictures that take the same tokens", async () => {
    const answers = new Set<string>();
    for (const picture of pictures) answers.add((await tokensOf(ask([picture], "Same words."))).join(" "));
    expect(answers.size).toBe(pictures.length);
    const together = await Promise.all(pictures.map((picture) => tokensOf(ask([picture], "Same words."))));
    expect(new Set(together.map((tokens) => tokens.join(" ")))).toEqual(answers);
  });

  it("answers texts before and after pictures alike", async () => {
    const text: VLMMessage[] = [{ role: "user", content: "Only words." }];
    const before = await tokensOf(text);
    await tokensOf(ask(pictures));
    expect(await tokensOf(text)).toEqual(before);
  });
});
