import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ModelError, OptionError } from "../../core/errors.js";
import { showValue } from "../../core/validate.js";

const EXPECTED = "the path of a model folder or .gguf file (a string, or a file: URL)";

/**
 * Brings a model argument into the form of an absolute path: takes `file:` URLs, `~`, relative paths and trailing slashes.
 *
 * @param name - what the caller knows the argument as
 * @param expected - what it must be, for messages
 * @throws OptionError for anything that cannot be a path
 * @throws ModelError for paths inside an Electron archive
 */
export function modelPath(model: unknown, name = "model", expected = EXPECTED): string {
  const invalid = (advice: string, cause?: unknown): OptionError => {
    const shown = model instanceof URL ? showValue(model.href) : showValue(model);
    const fields = { path: name, expected, received: model, cause };
    return new OptionError(`${name} must be ${expected}, received ${shown}.${advice}`, fields);
  };
  const text = model instanceof URL ? model.href : model;
  if (typeof text !== "string" || text.trim() === "") throw invalid("");
  if (text.includes("\0")) throw invalid(" A path cannot hold a NUL character.");
  let path = text;
  if (/^file:/i.test(text)) {
    try {
      path = fileURLToPath(text);
    } catch (error) {
      throw invalid(` ${(error as Error).message}.`, error);
    }
  } else if (/^[a-z][a-z0-9+.-]+:\/\//i.test(text)) {
    throw invalid(" Models are not fetched from URLs: download it and pass the path.");
  } else if (text === "~" || text.startsWith("~/") || text.startsWith(`~${sep}`)) {
    path = join(homedir(), text.slice(1));
  }
  const absolute = resolve(path);
  refuseArchive(absolute);
  return absolute;
}

/** Electron shows `app.asar` as a folder to JavaScript, but native code sees one file. */
function refuseArchive(path: string): void {
  const parts = path.split(sep);
  const at = parts.findIndex((part) => part.endsWith(".asar"));
  if (at < 0) return;
  const archive = parts.slice(0, at + 1).join(sep);
  // Outside Electron a real folder may have such a name.
  if (!process.versions["electron"] && statSync(archive, { throwIfNoEntry: false })?.isDirectory()) return;
  throw new ModelError(
    `The model ${path} lies inside an Electron archive (${parts[at]}), which native code cannot read. ` +
      `Unpack it with asarUnpack (or ship it as an extra resource) and pass the path in ${parts[at]}.unpacked.`,
    { file: path },
  );
}
