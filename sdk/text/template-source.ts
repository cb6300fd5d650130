import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ModelError } from "../core/errors.js";
import type { GgufFile } from "../models/gguf/gguf-file.js";
import { readJsonObject } from "../models/files/json-file.js";

/** Chat templates of a model by name (`default`, `tool_use`, ...), and the file they come from. */
export interface TemplateSource {
  templates: ReadonlyMap<string, string>;
  /** Named in errors. */
  file: string;
}

/** A template that is given as text. @param file - named in errors */
export function templateOfText(text: string, file: string): TemplateSource {
  return { templates: new Map([["default", text]]), file };
}

/**
 * Finds the chat templates of a model folder: `chat_template.jinja`, else `chat_template` in `tokenizer_config.json` (text, or a
 * list of named templates), else `chat_template.json`. `undefined` where there is none.
 */
export async function templateOfFolder(folder: string): Promise<TemplateSource | undefined> {
  const jinja = join(folder, "chat_template.jinja");
  const text = await readFile(jinja, "utf8").catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new ModelError(`${jinja} cannot be read: ${(cause as Error).message}.`, { file: jinja, cause });
  });
  if (text !== undefined) return templateOfText(text, jinja);
  for (const name of ["tokenizer_config.json", "chat_template.json"]) {
    const file = join(folder, name);
    const templates = namedTemplates((await readJsonObject(file))?.["chat_template"]);
    if (templates) return { templates, file };
  }
  return undefined;
}

/** The chat templates in a GGUF file's metadata; `undefined` where there is none. */
export function templateOfGguf(gguf: GgufFile): TemplateSource | undefined {
  const prefix = "tokenizer.chat_template";
  const templates = new Map<string, string>();
  for (const [key, value] of gguf.metadata) {
    if (typeof value !== "string") continue;
    if (key === prefix) templates.set("default", value);
    else if (key.startsWith(`${prefix}.`)) templates.set(key.slice(prefix.length + 1), value);
  }
  return templates.size > 0 ? { templates, file: gguf.metadata.file } : undefined;
}

function namedTemplates(value: unknown): Map<string, string> | undefined {
  if (typeof value === "string") return new Map([["default", value]]);
  if (!Array.isArray(value)) return undefined;
  const templates = new Map<string, string>();
  for (const entry of value as { name?: unknown; template?: unknown }[]) {
    if (typeof entry?.name === "string" && typeof entry.template === "string")
      templates.set(entry.name, entry.template);
  }
  return templates.size > 0 ? templates : undefined;
}
