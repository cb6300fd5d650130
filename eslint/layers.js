/**
 * Who may import whom inside `sdk/` (docs/architecture.md, "Layers"). A folder may import itself and what is listed.
 * Anything not listed is a wrong arrow. `index` is `sdk/index.ts`, the public surface.
 */
export const ALLOWED_IMPORTS = {
  core: [],
  text: ["core", "models"],
  media: ["core"],
  models: ["core"],
  generation: ["core", "text", "models"],
  llm: ["core", "text", "media", "models", "generation"],
  vlm: ["core", "text", "media", "models", "generation"],
  whisper: ["core", "text", "media", "models"],
  image: ["core", "text", "media", "models"],
  index: ["core", "text", "media", "models", "generation", "llm", "vlm", "whisper", "image"],
  cli: ["index"],
};

const pathOf = (layer) => (layer === "index" ? "./sdk/index.ts" : `./sdk/${layer}`);

/** Every forbidden arrow, as `[from, to]`. */
export const FORBIDDEN_IMPORTS = Object.entries(ALLOWED_IMPORTS).flatMap(([importer, allowed]) =>
  Object.keys(ALLOWED_IMPORTS)
    .filter((layer) => layer !== importer && !allowed.includes(layer))
    .map((layer) => [importer, layer]),
);

/** Zones of `import-x/no-restricted-paths`. */
export const ZONES = FORBIDDEN_IMPORTS.map(([importer, layer]) => ({
  target: pathOf(importer),
  from: pathOf(layer),
  message: `sdk/${importer} must not import sdk/${layer}: dependencies point down only (docs/architecture.md).`,
}));
