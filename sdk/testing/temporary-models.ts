import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";

/** A folder for the models of each test of a file, with a cache below it. */
export interface TemporaryModels {
  readonly root: string;
  readonly cacheFolder: string;
  /** A copy of a fixture, to be spoiled. */
  copyOf(fixturePath: string): Promise<string>;
  /** Names of the conversions in the cache. */
  conversions(): Promise<string[]>;
}

/** Makes the folder before each test and removes it afterwards. */
export function useTemporaryModels(name: string): TemporaryModels {
  let root = "";
  const cacheFolder = (): string => join(root, "cache");
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), `pergola-${name}-`));
  });
  afterEach(() => rm(root, { recursive: true, force: true }));
  return {
    get root() {
      return root;
    },
    get cacheFolder() {
      return cacheFolder();
    },
    copyOf: async (fixturePath) => {
      const path = join(root, "model");
      await cp(fixturePath, path, { recursive: true });
      return path;
    },
    conversions: () => readdir(join(cacheFolder(), "converted")).catch(() => []),
  };
}

/** The error that work ends with. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
}
