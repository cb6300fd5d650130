import { writeFileSync } from "node:fs";

/**
 * Types for CommonJS programs. Node.js can `require` this ES module, but TypeScript's older settings (`module: node16`)
 * accept that only of a package that has CommonJS types. They name the same declarations, so that there is one
 * `LLMPipeline` however it was imported.
 *
 * @param {string} declarations - `index.d.ts`; `index.d.cts` is written beside it
 */
export async function writeCommonJsTypes(declarations) {
  const { default: ts } = await import("typescript");
  const program = ts.createProgram([declarations], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    skipLibCheck: true,
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(declarations);
  const lines = [
    'import type * as pergola from "./index.js" with { "resolution-mode": "import" };',
    'export type * from "./index.js" with { "resolution-mode": "import" };',
  ];
  const all = checker.getExportsOfModule(checker.getSymbolAtLocation(source));
  const names = new RegExp(`\\b(${all.map(({ name }) => name).join("|")})\\b`, "g");
  for (const exported of all) {
    const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const { name } = exported;
    const written = exported.declarations?.find(ts.isExportSpecifier);
    if (written?.isTypeOnly || written?.parent.parent.isTypeOnly) continue;
    if (!(symbol.flags & ts.SymbolFlags.Value)) continue;
    lines.push(`export declare const ${name}: typeof pergola.${name};`);
    if (!(symbol.flags & ts.SymbolFlags.Type)) continue;
    const parameters = (symbol.declarations ?? []).find(ts.isClassDeclaration)?.typeParameters ?? [];
    const declared = parameters
      .map((parameter) => parameter.getText())
      .join(", ")
      .replace(names, "pergola.$1");
    const used = parameters.map((parameter) => parameter.name.getText()).join(", ");
    lines.push(`export type ${name}${declared && `<${declared}>`} = pergola.${name}${used && `<${used}>`};`);
  }
  writeFileSync(declarations.replace(/\.d\.ts$/, ".d.cts"), `${lines.join("\n")}\n`);
}
