import { Lifecycle } from "./lifecycle.js";

/** Keeps `new` from working: the SDK's own modules have it, users do not. */
export const INTERNAL: unique symbol = Symbol("internal");

/** What every loaded model is to its pipeline, whatever it consists of. */
export interface LoadedModel {
  /** Names of load options that the caller gave. */
  readonly givenLoadOptions: ReadonlySet<string>;
  /** Folder of the compile cache; empty = none. */
  readonly cacheFolder: string;
  /** What `explain()` tells in every case. */
  readonly notes: readonly string[];
  /** Time that `load()` took. */
  readonly loadMs: number;
  /** Gives back everything that the load opened. */
  close(): Promise<void>;
}

/** What all pipelines have in common: they are loaded, not constructed, and give their memory back. */
export abstract class Pipeline implements AsyncDisposable {
  /** @internal Calls and chats start through it. */
  protected readonly lifecycle: Lifecycle;

  /** @hidden */
  protected constructor(key: typeof INTERNAL, model: Pick<LoadedModel, "close">) {
    const { name } = new.target;
    if ((key as unknown) !== INTERNAL) {
      throw new TypeError(`${name} has no public constructor: use await ${name}.load(model, options).`);
    }
    this.lifecycle = new Lifecycle(name, () => model.close());
  }

  /** Ends running calls (they reject with DisposedError), then gives all memory back. A second call does nothing more. */
  dispose(): Promise<void> {
    return this.lifecycle.dispose();
  }

  /** Same as {@link dispose}; for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }
}
