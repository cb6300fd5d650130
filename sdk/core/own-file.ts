import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/**
 * The file that a module of this SDK runs from, given its `import.meta.url`. Bundlers that write CommonJS leave that
 * undefined; `__filename` is then the bundle. Undefined where the code did not come from a file.
 */
export function ownFile(url: string | undefined): string | undefined {
  const own = url ?? (typeof __filename === "string" ? pathToFileURL(__filename).href : undefined);
  return own?.startsWith("file:") ? fileURLToPath(own) : undefined;
}

/** A compiled file beside a module. Undefined where there is none: TypeScript sources, bundled programs. */
export function fileBeside(name: string, url: string | undefined): string | undefined {
  const own = ownFile(url);
  const file = own === undefined ? undefined : join(dirname(own), name);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** True where a bundler has put this SDK's code into a file of its own. */
export function isBundled(): boolean {
  return !/[\\/]core[\\/]own-file\.[jt]s$/.test(ownFile(import.meta.url) ?? "");
}

/** What to tell users whose bundle lacks something that only lies in packages. */
export function keepExternal(...packages: string[]): string {
  const names = ["pergola", ...packages];
  const list = names.map((name) => `"${name}"`).join(", ");
  return (
    `This program is bundled with the code of pergola inside; keep ${names.join(" and ")} external and installed beside ` +
    `the program (esbuild: ${names.map((name) => `--external:${name}`).join(" ")}; Vite: ssr.external: [${list}]; ` +
    `webpack: externals; Next.js: serverExternalPackages: [${list}]).`
  );
}
