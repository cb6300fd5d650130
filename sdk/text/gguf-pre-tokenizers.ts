import { GPT2_PATTERN } from "./pre-tokenizer-rules.js";

/** How text is cut into pieces before merging, for one value of `tokenizer.ggml.pre`. */
export interface GgufPreTokenizer {
  /** Regular expressions (Oniguruma's dialect), each cutting out its matches from what the ones before left. */
  patterns: readonly string[];
  /** A piece that is a token as it stands is not merged up. */
  ignoreMerges?: true;
  /** BOS goes in front of raw text where the file does not say. */
  addBos?: true;
  /** Text is brought into Unicode's composed form first (the models' own tokenizers do; llama.cpp leaves it out). */
  composed?: true;
  /** SentencePiece's spelling: spaces become ▁, and characters without a token become bytes. */
  sentencePiece?: true;
}

// The rules are facts about the models: they come from the models' published tokenizer.json files; which name stands for
// which rule is llama.cpp's choice (src/llama-vocab.cpp). Where llama.cpp approximates a rule because its regular
// expressions cannot say it, the published one stands here.

const CONTRACTION = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SYMBOLS = " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*";
const SPACES = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

const wordsAndDigits = (digits: string): string =>
  `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${digits}|${SYMBOLS}|${SPACES}`;

const UPPER = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOWER = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";

/** Words split where case changes from lower to upper (OpenAI's o200k family). */
const casedWords = (ending: string, digits: string, upper = UPPER, lower = LOWER): string =>
  `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${ending}|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${ending}|` +
  `${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|${SPACES}`;

/** A character class from hexadecimal code points and ranges; spelled out, composed and compatibility forms get confused. */
function characterClass(ranges: string): string {
  return `[${ranges.replace(/[0-9A-F]+/g, (code) => `\\x{${code}}`).replaceAll(" ", "")}]`;
}

const LLAMA3 = wordsAndDigits("\\p{N}{1,3}");
const QWEN2 = wordsAndDigits("\\p{N}");
const GPT4O = casedWords(`${CONTRACTION}?`, "\\p{N}{1,3}");
const BLOOM = " ?[^(\\s|.,!?…。，、।۔،)]+";
const PUNCTUATION_RUN = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+";
const DEEPSEEK3_WORDS = `${PUNCTUATION_RUN}|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\\r\\n]*|${SPACES}`;
const DEEPSEEK3 = ["\\p{N}{1,3}", "[一-龥\\u3040-ゟ゠-ヿ]+", DEEPSEEK3_WORDS];
const HAN = "[一-龥ࠀ-一가-\\uD7FF]+";

/** Letters of the scripts with case that DeepSeek's first tokenizer lists one by one. */
const DEEPSEEK_LETTERS = characterClass(
  "41-5A 61-7A B5 C0-D6 D8-F6 F8-1BA 1BC-1BF 1C4-293 295-2AF 370-373 376 377 37B-37D 37F 386 388-38A 38C" +
    " 38E-3A1 3A3-3F5 3F7-481 48A-52F 531-556 10A0-10C5 13A0-13F5 13F8-13FD 1C90-1CBA 1CBD-1CBF 1D00-1D2B" +
    " 1D6B-1D77 1D79-1D9A 1E00-1F15 1F18-1F1D 1F20-1F45 1F48-1F4D 1F50-1F57 1F59 1F5B 1F5D 1F5F-1F7D 1F80-1FB4" +
    " 1FB6-1FBC 1FBE 1FC2-1FC4 1FC6-1FCC 1FD0-1FD3 1FD6-1FDB 1FE0-1FEC 1FF2-1FF4 1FF6-1FFC 2102 2107 210A-2113" +
    " 2115 2119-211D 2124 2126 2128 212A-212D 212F-2134 2139 213C-213F 2145-2149 214E 2183 2184 2C00-2C7B" +
    " 2C7E-2CE4 2CEB-2CEE 2CF2 2CF3 A640-A66D A680-A69B A722-A76F A771-A787 A78B-A78E AB70-ABBF FB00-FB06" +
    " FB13-FB17 FF21-FF3A FF41-FF5A 10400-1044F 104B0-104D3 104D8-104FB 10C80-10CB2 10CC0-10CF2 118A0-118DF" +
    " 1E900-1E943",
);

/** Digits in threes counted from the right end of the run. */
const RIGHT_ALIGNED_DIGITS = "\\p{Nd}{1,3}(?=(?:\\p{Nd}{3})*(?!\\p{Nd}))";

const GPT2: GgufPreTokenizer = { patterns: [GPT2_PATTERN] };
const GPT2_DIGITS: GgufPreTokenizer = { patterns: ["\\p{N}", GPT2_PATTERN] };

const RULES: readonly (readonly [names: string, rule: GgufPreTokenizer])[] = [
  ["default", { patterns: ["[\\p{P}$+<=>^~|]+", GPT2_PATTERN, "\\p{N}+", "[0-9][0-9][0-9]"] }],
  ["gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert exaone4", GPT2],
  ["jina-v1-en jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling", GPT2],
  ["starcoder refact command-r smollm codeshell exaone minerva-7b mellum2", GPT2_DIGITS],
  [
    "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
    { patterns: [LLAMA3], ignoreMerges: true, addBos: true },
  ],
  ["dbrx smaug-bpe glm4 chatglm-bpe", { patterns: [LLAMA3] }],
  ["qwen2 deepseek-r1-qwen", { patterns: [QWEN2], composed: true }],
  ["kormo f2llmv2 megrez stablelm2 hunyuan solar-open grok-2", { patterns: [QWEN2] }],
  [
    "qwen35",
    {
      patterns: [
        `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|${SPACES}`,
      ],
      composed: true,
    },
  ],
  ["ufakzeka", { patterns: [`[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|${SYMBOLS}|${SPACES}`] }],
  ["laguna", { patterns: ["[^\\n]+|[\\n]+", QWEN2] }],
  ["minicpm5", { patterns: ["\\p{N}{1,3}", wordsAndDigits("\\p{N}+")], ignoreMerges: true }],
  [
    "seed-coder",
    { patterns: [`${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|${SPACES}`] },
  ],
  [
    "bailingmoe bailingmoe2 llada-moe",
    {
      patterns: [`'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|${SYMBOLS}|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`],
    },
  ],
  [
    "exaone-moe",
    {
      patterns: [
        `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+`,
      ],
    },
  ],
  [
    "jais-2",
    {
      patterns: [
        `${CONTRACTION}|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|${SYMBOLS}|\\s*[\\r\\n]+|` +
          `${[512, 256, 128, 64, 32, 16, 8, 4].map((count) => `\\s{${count}}(?!\\S)`).join("|")}|\\s{1,2}(?!\\S)|\\s{1}`,
      ],
    },
  ],
  ["falcon", { patterns: ["[\\p{P}$+<=>^~|`]+", GPT2_PATTERN, "[0-9][0-9][0-9]"] }],
  [
    "deepseek-llm",
    {
      patterns: [
        "[\\r\\n]",
        `\\s?${DEEPSEEK_LETTERS}+`,
        "\\s?[!-/:-~！-／：-～‘-‟\\u3000-。]+",
        "\\s+$",
        HAN,
        "\\p{N}+",
      ],
    },
  ],
  ["deepseek-coder", { patterns: ["[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", HAN, "\\p{N}"] }],
  ["deepseek-v3 hunyuan-dense joyai-llm hy_v4", { patterns: DEEPSEEK3 }],
  [
    "spark2_5",
    {
      patterns: [
        "\\p{N}{1,3}",
        DEEPSEEK3[1]!,
        `${PUNCTUATION_RUN}|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+`,
        "\\p{N}",
      ],
    },
  ],
  [
    "youtu",
    {
      patterns: [
        "[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\\u3040-ゟ゠-ヿ]+",
        casedWords(`${CONTRACTION}?`, "\\p{N}"),
      ],
      ignoreMerges: true,
    },
  ],
  [
    "afmoe",
    {
      patterns: [
        RIGHT_ALIGNED_DIGITS,
        "[一-鿿㐀-䶿豈-\\uFAFF\\u3040-ゟ゠-ヿ･-ﾟ⼀-\\u2FDFเ-\\u0E7F\\u0E80-\\u0EFFក-\\u17FFက-႟ꩠ-ꩿꧠ-\\uA9FF가-\\uD7AFᄀ-ᇿ]+",
        DEEPSEEK3_WORDS,
      ],
    },
  ],
  ["tekken", { patterns: [casedWords("", "\\p{N}")], ignoreMerges: true, addBos: true }],
  ["gpt-4o llama4 kanana2 talkie minimax-m2", { patterns: [GPT4O] }],
  ["granite-embed-multi-97m", { patterns: [GPT4O], ignoreMerges: true }],
  ["tiny_aya cohere2moe", { patterns: ["\\d{1,3}(?=(?:\\d{3})*\\b)", GPT4O] }],
  [
    "kimi-k2",
    {
      patterns: [
        `\\p{Han}+|${casedWords(`${CONTRACTION}?`, "\\p{N}{1,3}", `(?:(?!\\p{Han})${UPPER})`, `(?:(?!\\p{Han})${LOWER})`).replace("[\\r\\n/]*", "[\\r\\n]*")}`,
      ],
    },
  ],
  ["superbpe", { patterns: ["\\p{N}+", "(?=(\\d{3})+(?!\\d))"] }],
  ["bloom poro-chat gpt3-finnish", { patterns: [BLOOM] }],
  ["viking", { patterns: [BLOOM, "\\p{N}"] }],
  [
    "chameleon",
    {
      patterns: [
        "<sentinel:[0-9]+>",
        "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
        "([\\t\\n]|    |  )",
        "\\p{N}",
        "[\\p{P}!-/:-@\\[-`{-~]",
        GPT2_PATTERN,
      ],
      addBos: true,
    },
  ],
  ["gemma4 granite-embed-multi-311m sarvam-moe", { patterns: ["[^\\n]+|[\\n]+"], sentencePiece: true }],
];

const BY_NAME: ReadonlyMap<string, GgufPreTokenizer> = new Map(
  RULES.flatMap(([names, rule]) => names.split(" ").map((name) => [name, rule] as const)),
);

/** The rule that `tokenizer.ggml.pre` names; `undefined` for a name that is not known. */
export function ggufPreTokenizer(name: string): GgufPreTokenizer | undefined {
  return BY_NAME.get(name);
}

/** All names that {@link ggufPreTokenizer} knows. */
export function ggufPreTokenizerNames(): string[] {
  return [...BY_NAME.keys()];
}
