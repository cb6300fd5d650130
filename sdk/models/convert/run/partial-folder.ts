import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { readJsonObject } from "../../files/json-file.js";

const PREFIX = ".partial-";
const OWNER = "owner.json";
/** The owner shows at this interval that it is alive; after so long without, it is not. */
const BEAT_MS = 5000;
const SILENT_MS = 60_000;
/** Nobody has come back to a folder for so long: it is removed. */
const STALE_MS = 24 * 3600 * 1000;

/** Who works in a folder. */
interface Owner {
  /** What is being made; see {@link PartialFolder.open}. */
  key: string;
  /** 0 = nobody any more. */
  pid: number;
  host: string;
}

/**
 * A folder under construction, beside the one that it is to become. If its owner ends before it is done, by whatever cause,
 * the next one that makes the same goes on in it. Owners never share a folder: taking one over means renaming it, which only
 * one of several can do.
 */
export class PartialFolder {
  readonly path: string;
  readonly #key: string;
  readonly #beat: NodeJS.Timeout;

  private constructor(path: string, key: string) {
    this.path = path;
    this.#key = key;
    const owner = join(path, OWNER);
    this.#beat = setInterval(() => {
      const now = new Date();
      // Who removes the folder while it is in use hears of it elsewhere.
      utimes(owner, now, now).catch(() => undefined);
    }, BEAT_MS).unref();
  }

  /**
   * Takes over what is left of an earlier attempt, or makes an empty folder. Leftovers of other attempts are removed when they
   * are old.
   *
   * @param target - what the folder will be
   * @param key - only an attempt with the same one is gone on with: it stands for all that decides what is made
   */
  static async open(target: string, key: string): Promise<PartialFolder> {
    const parent = dirname(target);
    const own = PartialFolder.nameFor(target);
    let taken = false;
    for (const name of await readdir(parent)) {
      if (!name.startsWith(PREFIX)) continue;
      const path = join(parent, name);
      const found = await ownerOf(path);
      if (!taken && found && found.owner.key === key && name.startsWith(prefixFor(target)) && isGone(found)) {
        taken = await rename(path, own).then(
          () => true,
          () => false,
        );
      } else {
        await removeStale(path);
      }
    }
    if (!taken) await mkdir(own);
    const folder = new PartialFolder(own, key);
    await folder.#sign(process.pid);
    return folder;
  }

  /** A name beside the target that nothing else has. */
  static nameFor(target: string): string {
    return join(dirname(target), `${prefixFor(target)}${process.pid}-${randomBytes(4).toString("hex")}`);
  }

  /** Makes it what it was meant to be. @param move - renames the folder */
  async finish(move: (path: string) => Promise<void>): Promise<void> {
    clearInterval(this.#beat);
    await rm(join(this.path, OWNER), { force: true });
    await move(this.path);
  }

  /** Leaves it to the next one. */
  async leave(): Promise<void> {
    clearInterval(this.#beat);
    await this.#sign(0).catch(() => undefined);
  }

  async remove(): Promise<void> {
    clearInterval(this.#beat);
    await rm(this.path, { recursive: true, force: true });
  }

  async #sign(pid: number): Promise<void> {
    const owner: Owner = { key: this.#key, pid, host: hostname() };
    await writeFile(join(this.path, OWNER), JSON.stringify(owner));
  }
}

function prefixFor(target: string): string {
  return `${PREFIX}${basename(target)}-`;
}

async function ownerOf(path: string): Promise<{ owner: Owner; seen: number } | undefined> {
  const file = join(path, OWNER);
  const owner = await readJsonObject(file).catch(() => undefined);
  const found = await stat(file).catch(() => undefined);
  return owner && found ? { owner: owner as unknown as Owner, seen: found.mtimeMs } : undefined;
}

function isGone({ owner, seen }: { owner: Owner; seen: number }): boolean {
  if (owner.pid === 0 || Date.now() - seen > SILENT_MS) return true;
  return owner.host === hostname() && !isAlive(owner.pid);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

async function removeStale(path: string): Promise<void> {
  const last = (await stat(join(path, OWNER)).catch(() => undefined)) ?? (await stat(path).catch(() => undefined));
  if (last && Date.now() - last.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
}
