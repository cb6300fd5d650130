import path from "node:path";
import { builtinModules } from "node:module";

/**
 * Resolver for `import-x`: a relative specifier names the file it says, with `.js` standing for `.ts`. It needs no
 * file system, so an arrow into a file that does not exist yet is judged as well.
 */
export const relativeResolver = {
  interfaceVersion: 3,
  name: "pergola-relative",
  resolve(specifier, source) {
    if (builtinModules.includes(specifier.replace(/^node:/, ""))) return { found: true, path: null };
    if (!specifier.startsWith(".")) return { found: false };
    return { found: true, path: path.resolve(path.dirname(source), specifier.replace(/\.js$/, ".ts")) };
  },
};
