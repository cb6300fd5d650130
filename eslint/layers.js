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

/** What the graphs and files of a family of models are made with. */
const GROUND = ["models/files", "models/convert/read", "models/convert/ir", "models/convert/models/common"];
/** A new family stands here, and in `sdk/models/convert/models/architectures.ts`. */
const FAMILIES = ["llama", "whisper", "janus"].map((family) => `models/convert/models/${family}`);
/** The list of families. */
const LIST = "models/convert/models/*";
const RUN = "models/convert/run";
const RECOGNIZE = "models/recognize";
/** The converter's face: `check-plan.ts`, `conversion-cache.ts`. */
const FACE = "models/convert/*";

/**
 * The same for the rooms of `sdk/models` (docs/architecture.md, "Rooms of the converter"). A name that ends in `*` stands for
 * the files of a folder without its rooms.
 */
export const ALLOWED_ROOM_IMPORTS = {
  "models/files": [],
  "models/gguf": ["models/files"],
  "models/convert/read": ["models/files"],
  "models/convert/ir": ["models/files", "models/convert/read"],
  "models/convert/models/common": GROUND.slice(0, -1),
  "models/convert/models/llama": GROUND,
  "models/convert/models/whisper": GROUND,
  // Its language model is a Llama.
  "models/convert/models/janus": [...GROUND, "models/convert/models/llama"],
  [LIST]: [...GROUND, ...FAMILIES],
  [RUN]: [...GROUND, LIST],
  [FACE]: [...GROUND, LIST, RUN],
  [RECOGNIZE]: [...GROUND, "models/gguf", LIST],
  "models/*": [...GROUND, "models/gguf", ...FAMILIES, LIST, RUN, FACE, RECOGNIZE],
};

const pathOf = (layer) => {
  if (layer === "index") return "./sdk/index.ts";
  return layer.endsWith("*") ? `./sdk/${layer}.ts` : `./sdk/${layer}`;
};

const forbiddenIn = (table) =>
  Object.entries(table).flatMap(([importer, allowed]) =>
    Object.keys(table)
      .filter((layer) => layer !== importer && !allowed.includes(layer))
      .map((layer) => [importer, layer]),
  );

/** Every forbidden arrow, as `[from, to]`. */
export const FORBIDDEN_IMPORTS = forbiddenIn(ALLOWED_IMPORTS);
export const FORBIDDEN_ROOM_IMPORTS = forbiddenIn(ALLOWED_ROOM_IMPORTS);

/** Zones of `import-x/no-restricted-paths`. */
export const ZONES = [...FORBIDDEN_IMPORTS, ...FORBIDDEN_ROOM_IMPORTS].map(([importer, layer]) => ({
  target: pathOf(importer),
  from: pathOf(layer),
  // The command line writes files whole, as the SDK does.
  ...(importer === "cli" && layer === "core" && { except: ["./write-whole.ts"] }),
  message: `sdk/${importer} must not import sdk/${layer}: dependencies point down only (docs/architecture.md).`,
}));
