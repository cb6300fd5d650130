import { createHash } from "node:crypto";
import { OptionError } from "../core/errors.js";
import type { NativePromptRows } from "../core/native-types.js";
import type { PromptWork } from "../generation/text-model.js";
import type { OpenedFamily } from "./families/family.js";
import type { Picture } from "./pictures.js";

/** Ids with image tokens for every row, and where the runs of them begin. */
export interface PlacedPictures {
  ids: number[];
  /** Index of each run of image tokens, in order. */
  starts: number[];
}

/**
 * Puts what pictures look like in the prompt in the places of a rendered text's placeholders.
 *
 * @throws OptionError where there are not as many placeholders as pictures
 */
export function expandPlaceholders(text: string, family: OpenedFamily, pictures: readonly Picture[]): string {
  const pieces = text.split(family.placeholder);
  if (pieces.length - 1 !== pictures.length) throw misfit(family, pieces.length - 1, pictures.length);
  return pieces
    .map((piece, index) => (index === 0 ? "" : pictures[index - 1]!.layout.text(index - 1)) + piece)
    .join("");
}

/**
 * Repeats image tokens, which stand once for each run of rows, as often as there are rows.
 *
 * @throws OptionError where the text has other image tokens than those of the pictures
 */
export function placePictures(
  ids: readonly number[],
  family: OpenedFamily,
  pictures: readonly Picture[],
): PlacedPictures {
  const runs = pictures.flatMap(({ layout }) => layout.runs);
  const { id: imageToken } = family.imageToken;
  const found = ids.reduce((count, id) => (id === imageToken ? count + 1 : count), 0);
  if (found !== runs.length) throw misfit(family, found, runs.length);
  const placed: PlacedPictures = { ids: [], starts: [] };
  for (const id of ids) {
    if (id !== imageToken) {
      placed.ids.push(id);
      continue;
    }
    const count = runs[placed.starts.length]!;
    placed.starts.push(placed.ids.length);
    for (let row = 0; row < count; row++) placed.ids.push(imageToken);
  }
  return placed;
}

/** Rows of all pictures in the form the engine takes; pictures are encoded one after the other. */
export async function rowsOf(
  pictures: readonly Picture[],
  { starts }: PlacedPictures,
  hiddenSize: number,
  work: PromptWork,
): Promise<NativePromptRows[]> {
  const all: NativePromptRows[] = [];
  for (const picture of pictures) {
    const rows = await work.clock.measureAsync("encode", () => picture.rows(work));
    let row = 0;
    for (const [run, count] of picture.layout.runs.entries()) {
      all.push({
        start: starts[all.length]!,
        count,
        rows: rows.subarray(row * hiddenSize, (row + count) * hiddenSize),
        key: run === 0 ? picture.key : createHash("sha256").update(`${picture.key} ${run}`).digest("hex"),
      });
      row += count;
    }
  }
  return all;
}

function misfit({ placeholder }: OpenedFamily, found: number, pictures: number): OptionError {
  const cause =
    found > pictures
      ? `A text holds ${placeholder}, and control tokens are read as such (allowControlTokens, or a raw prompt): take it out.`
      : `A raw prompt needs ${placeholder} for each picture; in another one the chat template leaves pictures out, or prints other placeholders.`;
  return new OptionError(
    `The prompt has ${found} placeholders for ${pictures} ${pictures === 1 ? "picture" : "pictures"}. ${cause}`,
    {
      path: "prompt",
      expected: "one placeholder for each picture",
      received: found,
    },
  );
}
