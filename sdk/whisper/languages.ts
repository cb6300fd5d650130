import { suggestName } from "../core/validate.js";
import { OptionError } from "../core/errors.js";

/** Names that English has beside the one `Intl` knows, and other spellings of codes. */
const OTHER_NAMES: Record<string, string> = {
  bengali: "bn",
  burmese: "my",
  castilian: "es",
  farsi: "fa",
  filipino: "tl",
  flemish: "nl",
  haitian: "ht",
  iw: "he",
  jv: "jw",
  letzeburgesch: "lb",
  mandarin: "zh",
  moldavian: "ro",
  moldovan: "ro",
  myanmar: "my",
  nb: "no",
  nynorsk: "nn",
  panjabi: "pa",
  pushto: "ps",
  sinhalese: "si",
  tagalog: "tl",
  valencian: "ca",
};

const DISPLAY = new Intl.DisplayNames("en", { type: "language", fallback: "code" });

/** English name of a language code, for example `German` for `de`. */
export function languageName(code: string): string {
  return DISPLAY.of(code) ?? code;
}

/**
 * The code that a `language` option means: a code (`de`, in any case, a region is ignored: `pt-BR`), a name in English
 * (`German`), or the model's token (`<|de|>`).
 *
 * @param known - codes of the model; empty for a model that knows only English
 * @throws OptionError listing what there is
 */
export function languageCode(language: string, known: ReadonlyMap<string, number>): string {
  const plain = plainName(language);
  const codes = known.size > 0 ? [...known.keys()] : ["en"];
  const code = codeOf(plain, codes);
  if (code !== undefined) return code;
  throw known.size > 0 ? unknownLanguage(language, plain, codes) : onlyEnglish(language);
}

function codeOf(plain: string, codes: readonly string[]): string | undefined {
  const region = /^([a-z]{2,3})[-_][a-z]{2,4}$/.exec(plain)?.[1];
  for (const candidate of [plain, OTHER_NAMES[plain], region, region && OTHER_NAMES[region]]) {
    if (candidate !== undefined && codes.includes(candidate)) return candidate;
  }
  return plain === "" ? undefined : codes.find((code) => plainName(languageName(code)) === plain);
}

function plainName(text: string): string {
  const inside = /^<\|(.*)\|>$/.exec(text.trim())?.[1] ?? text.trim();
  return inside.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
}

function unknownLanguage(received: string, plain: string, codes: string[]): OptionError {
  const names = new Map(codes.map((code) => [plainName(languageName(code)), code]));
  const near = plain.length > 3 ? suggestName(plain, [...names.keys()]) : undefined;
  const suggestion = near === undefined ? undefined : names.get(near);
  const hint = suggestion === undefined ? "" : ` Did you mean "${suggestion}" (${languageName(suggestion)})?`;
  const expected = `a language this model knows (${codes.toSorted().join(", ")}), its English name, or undefined to find out`;
  return new OptionError(`language must be ${expected}; received ${JSON.stringify(received)}.${hint}`, {
    path: "language",
    expected,
    received,
    suggestion,
  });
}

function onlyEnglish(received: string): OptionError {
  return new OptionError(
    `language must be "en" or left out: this model knows only English; received ${JSON.stringify(received)}. ` +
      'Load a multilingual model (one without ".en" in its name) for other languages.',
    { path: "language", expected: '"en"', received },
  );
}
