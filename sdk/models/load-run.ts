import { throwIfAborted } from "../core/abort.js";
import { namesGiven, type CommonLoadOptions, type ResolvedCommonOptions } from "../core/load-options.js";
import { nativeForDevices, openNative } from "../core/native-load.js";
import type { NativeAddon, NativeJob } from "../core/native-types.js";
import type { LoadedModel } from "../core/pipeline.js";
import { LoadProgressReporter } from "../core/progress.js";
import { resolveCache, type CacheFolder } from "./cache.js";
import { modelPath } from "./files/model-path.js";

/** What is loaded, and how. */
export interface LoadOrder {
  /** As the caller named it. */
  model: unknown;
  /** As the caller gave them. */
  options: CommonLoadOptions;
  resolved: ResolvedCommonOptions;
  /** Devices of parts of the model that have one of their own. */
  furtherDevices?: readonly (string | undefined)[];
}

/**
 * Loads a model of any pipeline: checks the device before any file is touched, then runs the steps. What they opened is given
 * back, latest first, if any of them fails, a progress listener throws or the signal aborts; else it belongs to the model, whose
 * `close()` gives it back in the same way.
 *
 * @param steps - find the files, open the parts, put the model together
 * @throws OptionError, DeviceError, NativeError, what the steps or a listener throw, or the signal's reason
 */
export async function runLoad<Model>(order: LoadOrder, steps: (run: LoadRun) => Promise<Model>): Promise<Model> {
  const started = performance.now();
  const { model, options, resolved, furtherDevices = [] } = order;
  throwIfAborted(options.signal);
  modelPath(model);
  const progress = new LoadProgressReporter(options.onProgress);
  const native = await nativeForDevices(resolved, furtherDevices, options.signal);
  progress.report("files", 0);
  const run = new LoadRun(started, options, native, await resolveCache(resolved.cache), progress);
  try {
    // An abort is followed by each step; the place to let go of a step that cannot follow is here.
    const loaded = await steps(run);
    progress.report("ready", 1);
    run.check();
    return loaded;
  } catch (error) {
    // The first error counts.
    await run.close().catch(() => undefined);
    throw error;
  }
}

/** A load on its way: what its steps share, and what they opened. */
export class LoadRun {
  readonly native: NativeAddon;
  readonly progress: LoadProgressReporter;
  readonly #started: number;
  readonly #options: CommonLoadOptions;
  readonly #cache: CacheFolder;
  /** Ends what runs beside a step that failed. */
  readonly #failure = new AbortController();
  readonly #ends: AbortSignal;
  readonly #undo: (() => Promise<void>)[] = [];

  constructor(
    started: number,
    options: CommonLoadOptions,
    native: NativeAddon,
    cache: CacheFolder,
    progress: LoadProgressReporter,
  ) {
    this.#started = started;
    this.#options = options;
    this.native = native;
    this.#cache = cache;
    this.progress = progress;
    const { signal } = options;
    this.#ends = signal ? AbortSignal.any([signal, this.#failure.signal]) : this.#failure.signal;
  }

  /** Folder of the cache; empty = none. */
  get cacheFolder(): string {
    return this.#cache.folder;
  }

  /**
   * Finds the model's files, which may mean to convert them. Whatever fetches files stands in front of `resolve`, in here.
   *
   * @param resolve - takes what all ways of finding files need
   */
  async find<Source>(
    resolve: (finding: {
      cacheFolder: string;
      signal: AbortSignal | undefined;
      onProgress: (fraction: number) => void;
    }) => Promise<Source>,
  ): Promise<Source> {
    const { reportConversion: onProgress } = this.progress;
    return resolve({ cacheFolder: this.cacheFolder, signal: this.#options.signal, onProgress });
  }

  /** All files are there and read. @param path - the model's */
  found(path: string): void {
    this.progress.report("files", 1, path);
    this.check();
  }

  /** Opens a native part, which belongs to the load from then on. */
  async open<Opened extends { close(): Promise<void> }>(
    start: (native: NativeAddon) => NativeJob<Opened>,
  ): Promise<Opened> {
    const opened = await openNative(this.native, () => start(this.native), this.progress, this.#ends);
    this.own(opened, () => opened.close());
    this.progress.assertListenerSound();
    return opened;
  }

  /** Takes charge of something that has to be given back. */
  own<Resource>(resource: Resource, undo: () => Promise<void>): Resource {
    this.#undo.push(undo);
    return resource;
  }

  /** Runs two steps at the same time. If one fails the other is ended, and waited for, before the error is told. */
  async sideBySide<One, Other>(one: () => Promise<One>, other: () => Promise<Other>): Promise<[One, Other]> {
    const both = [one(), other()] as const;
    try {
      return await Promise.all(both);
    } catch (error) {
      this.#failure.abort(error);
      await Promise.allSettled(both);
      throw error;
    }
  }

  /** @throws what a progress listener threw, or the signal's reason */
  check(): void {
    throwIfAborted(this.#options.signal);
    this.progress.assertListenerSound();
  }

  /** What every loaded model has. @param notes - further ones for `explain()` */
  loaded(notes: readonly string[] = []): LoadedModel {
    const { folder, warning } = this.#cache;
    return {
      givenLoadOptions: namesGiven(this.#options),
      cacheFolder: folder,
      notes: [...(warning === undefined ? [] : [warning]), ...notes],
      loadMs: performance.now() - this.#started,
      close: () => this.close(),
    };
  }

  /** Gives everything back, latest first. @throws the first error, after all was tried */
  async close(): Promise<void> {
    let failure: { error: unknown } | undefined;
    for (const undo of this.#undo.splice(0).toReversed()) {
      try {
        await undo();
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }
}
