import { readFileSync, statSync } from "node:fs";
import ts from "typescript";
import { relativeResolver } from "./resolver.js";

/**
 * Reports an import that leads back to the file it stands in. `import-x/no-cycle` does not look at type imports; here they
 * count, because a reader has to follow them as well.
 */
export const noCircles = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      circle: "This import closes a circle of files: {{route}}. Move what both need into a file below them.",
    },
  },
  create(context) {
    const file = context.filename;
    return {
      Program() {
        // Files from which no way leads back.
        const cleared = new Set();
        for (const { fileName, pos, end } of ts.preProcessFile(context.sourceCode.text).importedFiles) {
          const next = resolved(fileName, file);
          const route = next === undefined ? undefined : routeTo(file, next, cleared);
          if (route === undefined) continue;
          const loc = {
            start: context.sourceCode.getLocFromIndex(pos),
            end: context.sourceCode.getLocFromIndex(end),
          };
          context.report({ loc, messageId: "circle", data: { route: route.map(shortName).join(" → ") } });
        }
      },
    };
  },
};

/** The files from one to another, both included; undefined where no way leads there. */
function routeTo(target, from, cleared) {
  if (from === target) return [from];
  if (cleared.has(from)) return undefined;
  cleared.add(from);
  for (const next of importsOf(from)) {
    const route = routeTo(target, next, cleared);
    if (route) return [from, ...route];
  }
  return undefined;
}

const known = new Map();

/** Files that a file on the disk imports, in whatever way. Editors keep this module loaded while files change. */
function importsOf(file) {
  const changed = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
  if (changed === undefined) return [];
  if (known.get(file)?.changed !== changed) {
    const { importedFiles } = ts.preProcessFile(readFileSync(file, "utf8"));
    const imports = importedFiles.map(({ fileName }) => resolved(fileName, file)).filter((path) => path !== undefined);
    known.set(file, { changed, imports });
  }
  return known.get(file).imports;
}

function resolved(specifier, file) {
  return relativeResolver.resolve(specifier, file).path ?? undefined;
}

function shortName(file) {
  return file.slice(file.lastIndexOf("/sdk/") + 1);
}
