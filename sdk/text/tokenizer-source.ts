import { readGguf, type GgufFile } from "../models/gguf/gguf-file.js";
import { definitionFromGguf } from "./gguf-tokenizer.js";
import type { TokenizerDefinition } from "./tokenizer-definition.js";
import { definitionFromFiles, readTokenizerFiles, type TokenizerFiles } from "./tokenizer-json.js";

/** Where a tokenizer comes from, in a form that a worker thread can be given. */
export type TokenizerSource =
  { kind: "folder"; folder: string } | { kind: "gguf"; file: string } | { kind: "files"; files: TokenizerFiles };

/** Reads a tokenizer's definition. `gguf` is the header where it is already at hand. */
export async function readDefinition(source: TokenizerSource, gguf?: GgufFile): Promise<TokenizerDefinition> {
  switch (source.kind) {
    case "folder":
      return definitionFromFiles(await readTokenizerFiles(source.folder));
    case "files":
      return definitionFromFiles(source.files);
    case "gguf":
      return definitionFromGguf((gguf ?? (await readGguf(source.file))).metadata);
  }
}
