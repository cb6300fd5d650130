import { join } from "node:path";
import { ModelError, UnsupportedError } from "../core/errors.js";
import { readJsonObject } from "../models/files/json-file.js";
import type {
  AddedTokenDefinition,
  BpeDefinition,
  TokenizerDefinition,
  TokenizerNode,
  UnigramDefinition,
} from "./tokenizer-definition.js";

type JsonObject = Record<string, unknown>;

/** Fields of `tokenizer_config.json` that name special tokens. */
const NAMED_TOKENS = [
  "bos_token",
  "eos_token",
  "unk_token",
  "sep_token",
  "pad_token",
  "cls_token",
  "mask_token",
] as const;

/** Parsed tokenizer files of a model folder. */
export interface TokenizerFiles {
  /** File named in errors. */
  file: string;
  /** Content of `tokenizer.json`. */
  tokenizer: JsonObject;
  /** Content of `tokenizer_config.json`, where there is one. */
  config?: JsonObject | undefined;
  /** Content of `special_tokens_map.json`, where there is one; `tokenizer_config.json` goes first. */
  specialTokens?: JsonObject | undefined;
}

/** Reads `tokenizer.json` and what may stand beside it. @throws ModelError where it is missing or not JSON. */
export async function readTokenizerFiles(folder: string): Promise<TokenizerFiles> {
  const file = join(folder, "tokenizer.json");
  const tokenizer = await readJsonObject(file);
  if (!tokenizer) {
    throw new ModelError(
      `${file} is missing: the model folder has no tokenizer. Copy tokenizer.json (and tokenizer_config.json) of the original model into it.`,
      { file },
    );
  }
  const config = await readJsonObject(join(folder, "tokenizer_config.json"));
  const specialTokens = await readJsonObject(join(folder, "special_tokens_map.json"));
  return { file, tokenizer, config, specialTokens };
}

/** Turns the files of a model folder into a definition. @throws ModelError | UnsupportedError */
export function definitionFromFiles(files: TokenizerFiles): TokenizerDefinition {
  const { tokenizer, file } = files;
  const config = { ...files.specialTokens, ...files.config };
  const model = readModel(tokenizer["model"], file);
  const namedTokens: Record<string, string> = {};
  for (const name of NAMED_TOKENS) {
    const content = tokenContent(config[name]);
    if (content !== undefined) namedTokens[name] = content;
  }
  const addedTokens = readAddedTokens(files, config, model, namedTokens);
  const eos = namedTokens["eos_token"];
  return {
    file,
    normalizer: (tokenizer["normalizer"] ?? null) as TokenizerNode | null,
    preTokenizer: (tokenizer["pre_tokenizer"] ?? null) as TokenizerNode | null,
    model,
    decoder: (tokenizer["decoder"] ?? null) as TokenizerNode | null,
    postProcessor: (tokenizer["post_processor"] ?? null) as TokenizerNode | null,
    addedTokens,
    addBos: typeof config["add_bos_token"] === "boolean" ? config["add_bos_token"] : undefined,
    addEos: typeof config["add_eos_token"] === "boolean" ? config["add_eos_token"] : undefined,
    bosToken: namedTokens["bos_token"],
    stopTokens: eos === undefined ? [] : [eos],
    namedTokens,
  };
}

function readModel(value: unknown, file: string): BpeDefinition | UnigramDefinition {
  const node = value as TokenizerNode | undefined;
  if (!node || typeof node !== "object" || node["vocab"] === undefined) {
    throw new ModelError(`${file} has no "model" with a vocabulary.`, { file });
  }
  const type =
    (node.type as string | undefined) ?? (Array.isArray(node["vocab"]) ? "Unigram" : "merges" in node ? "BPE" : "");
  if (type === "Unigram") {
    checkPieces(node["vocab"], file);
    return { kind: "unigram", node: { ...node, type } };
  }
  if (type !== "BPE") {
    throw new UnsupportedError(`${file}: tokenizer model "${type}" is not supported (BPE and Unigram are).`, {
      subject: type,
    });
  }
  return {
    kind: "bpe",
    vocabulary: readVocabulary(node["vocab"], file),
    merges: readMerges(node["merges"] ?? [], file),
    unknownToken: (node["unk_token"] as string | null | undefined) ?? undefined,
    fuseUnknown: node["fuse_unk"] === true,
    byteFallback: node["byte_fallback"] === true,
    ignoreMerges: node["ignore_merges"] === true,
    endOfWordSuffix: (node["end_of_word_suffix"] as string | null | undefined) || undefined,
  };
}

/** Ids are places in tables; no vocabulary comes near this. */
const MOST_TOKENS = 2 ** 27;

function isId(id: unknown): id is number {
  return Number.isInteger(id) && (id as number) >= 0 && (id as number) < MOST_TOKENS;
}

function damaged(file: string, what: string, value: unknown): ModelError {
  const shown = (JSON.stringify(value) ?? "nothing").slice(0, 80);
  return new ModelError(`${file}: ${what}, found ${shown}. The file is damaged; fetch it again.`, { file });
}

function readVocabulary(value: unknown, file: string): Map<string, number> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw damaged(file, "the vocabulary must be tokens with their ids", value);
  }
  const entries = Object.entries(value);
  const wrong = entries.find(([, id]) => !isId(id));
  if (wrong) throw damaged(file, `the id of token ${JSON.stringify(wrong[0])} must be a whole number`, wrong[1]);
  return new Map(entries as [string, number][]);
}

function readMerges(value: unknown, file: string): [string, string][] {
  if (!Array.isArray(value)) throw damaged(file, '"merges" must be a list', value);
  return value.map((entry: unknown) => {
    if (typeof entry === "string") return splitMerge(entry);
    const isPair = Array.isArray(entry) && entry.length === 2 && entry.every((part) => typeof part === "string");
    if (!isPair) throw damaged(file, "a merge must be two tokens", entry);
    return entry as [string, string];
  });
}

function checkPieces(value: unknown, file: string): void {
  if (!Array.isArray(value)) throw damaged(file, "the vocabulary must be a list of pieces with their scores", value);
  const wrong: unknown = value.find(
    (entry) => !Array.isArray(entry) || typeof entry[0] !== "string" || typeof entry[1] !== "number",
  );
  if (wrong !== undefined) throw damaged(file, "an entry of the vocabulary must be a piece and its score", wrong);
}

/** `"a b"` as a pair; the left side is never empty, so a space at the very start belongs to it. */
export function splitMerge(merge: string): [string, string] {
  const space = merge.indexOf(" ", 1);
  return space < 0 ? [merge, ""] : [merge.slice(0, space), merge.slice(space + 1)];
}

function readAddedTokens(
  files: TokenizerFiles,
  config: JsonObject,
  model: BpeDefinition | UnigramDefinition,
  namedTokens: Record<string, string>,
): AddedTokenDefinition[] {
  const byContent = new Map<string, AddedTokenDefinition>();
  const add = (entry: JsonObject, id: number): void => {
    if (typeof entry !== "object" || (entry as unknown) === null || typeof entry["content"] !== "string" || !isId(id)) {
      throw damaged(files.file, "an added token must have a content and an id", entry);
    }
    const special = entry["special"] === true;
    byContent.set(entry["content"], {
      id,
      content: entry["content"],
      special,
      singleWord: entry["single_word"] === true,
      leftStrip: entry["lstrip"] === true,
      rightStrip: entry["rstrip"] === true,
      normalized: typeof entry["normalized"] === "boolean" ? entry["normalized"] : !special,
    });
  };
  const listed = files.tokenizer["added_tokens"] ?? [];
  if (!Array.isArray(listed)) throw damaged(files.file, '"added_tokens" must be a list', listed);
  for (const entry of listed as JsonObject[]) add(entry, Number((entry as JsonObject | null)?.["id"]));
  for (const [id, entry] of Object.entries((config["added_tokens_decoder"] ?? {}) as Record<string, JsonObject>)) {
    if (!byContent.has(String((entry as JsonObject | null)?.["content"]))) add(entry, Number(id));
  }
  // Tokens that the configuration names are control tokens even if tokenizer.json does not say so.
  const extra = [config["additional_special_tokens"], config["extra_special_tokens"]].flatMap((list) =>
    Object.values((list ?? {}) as Record<string, unknown>).map(tokenContent),
  );
  for (const content of [...Object.values(namedTokens), ...extra]) {
    if (content === undefined) continue;
    const known = byContent.get(content);
    const id = known?.id ?? (model.kind === "bpe" ? model.vocabulary.get(content) : undefined);
    if (known) known.special = true;
    else if (id !== undefined) add({ content, special: true, normalized: false }, id);
  }
  return [...byContent.values()];
}

/** A token is written as its text or as an object with a `content`. */
function tokenContent(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  const content = (value as { content?: unknown } | null | undefined)?.content;
  return typeof content === "string" ? content : undefined;
}
