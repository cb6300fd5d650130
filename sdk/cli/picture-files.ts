import { mkdir, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { RgbImage } from "../index.js";
import { UsageError } from "./exit-codes.js";
import { exists, nameForPart } from "./partial-name.js";

const ENDINGS = [".png", ".jpg", ".jpeg", ".webp"];
const LONGEST_NAME = 60;

/** Where pictures are written: the file that `--out` names, or files named after the prompt. */
export class PictureFiles {
  readonly #previews = new Set<string>();

  private constructor(
    private readonly folder: string,
    private readonly name: string,
    private readonly ending: string,
    /** Files that exist are kept, and the next free number is taken. */
    private readonly keepsExisting: boolean,
  ) {}

  /**
   * Decides where pictures go, and makes the folder: what is wrong must be found before the work and not after it.
   *
   * @param out - a file name, which is replaced if it exists, or a folder; undefined: the working folder
   * @throws UsageError for a name that tells no format
   */
  static async plan(out: string | undefined, prompt: string): Promise<PictureFiles> {
    const existing = out === undefined ? undefined : await stat(out).catch(() => undefined);
    if (out === undefined || existing?.isDirectory() || /[\\/]$/.test(out)) {
      const folder = out ?? "";
      await mkdir(path.resolve(folder), { recursive: true });
      return new PictureFiles(folder, nameFor(prompt), ".png", true);
    }
    const { dir, name, ext } = path.parse(out);
    if (!ENDINGS.includes(ext.toLowerCase())) {
      throw new UsageError(`--out takes a file that ends in ${ENDINGS.join(", ")}, or a folder; received ${out}.`);
    }
    await mkdir(path.resolve(dir), { recursive: true });
    return new PictureFiles(dir, name, ext, false);
  }

  /**
   * Writes pictures and gives their paths; several get numbers.
   *
   * @param cutShort - they are not finished, and finished ones are not replaced by them
   */
  async save(images: readonly RgbImage[], cutShort = false): Promise<string[]> {
    const names = await this.#names(images.length);
    const files = cutShort ? await Promise.all(names.map(nameForPart)) : names;
    for (const [index, image] of images.entries()) await image.toFile(files[index]!);
    return files;
  }

  /** Writes pictures as far as they are made, over those of the last call. */
  async savePreviews(images: readonly RgbImage[]): Promise<void> {
    for (const [index, image] of images.entries()) {
      const number = images.length > 1 ? `-${index + 1}` : "";
      const file = path.join(this.folder, `${this.name}${number}.preview${this.ending}`);
      // Previews are taken away in the end: a file of that name that was there before is somebody's own.
      if (!this.#previews.has(file) && (await exists(file))) continue;
      this.#previews.add(file);
      await image.toFile(file);
    }
  }

  /** Takes the previews away: the finished pictures are there, or none will be. */
  async removePreviews(): Promise<void> {
    for (const file of this.#previews) await rm(file, { force: true });
  }

  async #names(count: number): Promise<string[]> {
    const file = (number: number | undefined): string =>
      path.join(this.folder, `${this.name}${number === undefined ? "" : `-${number}`}${this.ending}`);
    const numbered = (first: number): string[] => Array.from({ length: count }, (_, index) => file(first + index));
    if (!this.keepsExisting) return count === 1 ? [file(undefined)] : numbered(1);
    if (count === 1 && !(await exists(file(undefined)))) return [file(undefined)];
    let first = count === 1 ? 2 : 1;
    for (let number = first; number < first + count; number++) {
      if (await exists(file(number))) first = number + 1;
    }
    return numbered(first);
  }
}

/** A file name that tells what was asked for: `a-red-bicycle`. */
export function nameFor(prompt: string): string {
  const words =
    prompt
      .toLowerCase()
      .normalize("NFKC")
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  let name = "";
  for (const word of words) {
    const longer = name === "" ? word : `${name}-${word}`;
    if (Buffer.byteLength(longer) > LONGEST_NAME) break;
    name = longer;
  }
  return name === "" ? "picture" : name;
}
