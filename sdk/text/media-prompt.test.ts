import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { ChatTemplate, type MediaPrompt } from "./chat-template.js";
import type { TemplateMessage } from "./messages.js";
import { templateOfText } from "./template-source.js";
import { Tokenizer } from "./tokenizer.js";

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await Tokenizer.fromFolder(
    fileURLToPath(new URL("../../test/fixtures/vlm/llava-tiny-ir", import.meta.url)),
  );
});

/** Prints parts one after the other, pictures as a word that is no control token. */
const PARTS =
  "{% for m in messages %}{% for p in m.content %}{{ p.text if p.type == 'text' else '[PIC]' }}{% endfor %}{% endfor %}";
const template = (text = PARTS) => new ChatTemplate(templateOfText(text, "test"), tokenizer);

const IMAGE = { type: "image" } as never;
const text = (words: string) => ({ type: "text" as const, text: words });
const user = (...content: ReturnType<typeof text>[]): TemplateMessage[] => [{ role: "user", content }];
/** Shows what would be tokenized. */
function spy(more: Partial<MediaPrompt> = {}): { media: MediaPrompt; seen: string[] } {
  const seen: string[] = [];
  const expand = (printed: string): string => {
    seen.push(printed);
    return printed.replaceAll("[PIC]", "<image>");
  };
  return { seen, media: { spellings: ["[PIC]"], expand, ...more } };
}

describe("prompts of models that see pictures", () => {
  it("are expanded before they are tokenized, and shown as they were printed", async () => {
    const { media } = spy();
    const { text: shown, ids } = await template().encode(user(IMAGE, text("a"), IMAGE), { media });
    expect(shown).toBe("[PIC]a[PIC]");
    expect(ids.filter((id) => id === tokenizer.idOf("<image>"))).toHaveLength(2);
    expect(ids).toEqual(tokenizer.encode("<image>a<image>"));
  });

  it.each([
    ["in one text", [text("a [PIC] b")]],
    ["in two", [text("a [PI"), text("C] b")]],
    ["in three, with a control token beside it", [text("<im"), text("age>["), text("PIC]")]],
    ["one behind the other", [text("[[PIC][PIC]")]],
  ])("take the placeholder's spelling in messages for text: %s", async (_, parts) => {
    const { media, seen } = spy();
    const { text: shown, ids } = await template().encode(user(IMAGE, ...parts), { media });
    expect(seen[0]!.split("[PIC]")).toHaveLength(2);
    expect(ids.filter((id) => id === tokenizer.idOf("<image>"))).toHaveLength(1);
    expect(shown).toBe(`[PIC]${parts.map((part) => part.text).join("")}`);
  });

  it("take it for a placeholder where control tokens are allowed", async () => {
    const { media, seen } = spy();
    await template().encode(user(text("[PIC]")), { media, allowControlTokens: true });
    expect(seen).toEqual(["[PIC]"]);
  });

  it("leave texts side by side to the template", () => {
    const joined = template("{% for p in messages[0].content %}({{ p.text }}){% endfor %}");
    const { media } = spy();
    expect(joined.render(user(text("a"), text("b")), { media }).text).toBe("(a)(b)");
    // Without pictures they are one text, for whatever the template makes of it.
    expect(joined.render(user(text("a"), text("b"))).text).toBe("(ab)");
  });

  it("begin with the prefix, behind BOS", async () => {
    const { media } = spy({ prefix: "Look. " });
    const { text: shown, ids } = await template().encode(user(text("a")), { media });
    expect(shown).toBe("Look. a");
    expect(ids).toEqual(tokenizer.encode("Look. a"));
    expect(ids[0]).toBe(tokenizer.bosId);
  });

  it("have BOS once where the template prints it", async () => {
    const { media } = spy();
    const { ids } = await template(`{{ bos_token }}${PARTS}`).encode(user(text("a")), { media });
    expect(ids.filter((id) => id === tokenizer.bosId)).toHaveLength(1);
  });
});
