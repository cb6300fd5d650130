import { blameCaller, blaming, type CallSite } from "./call-site.js";
import { DisposedError } from "./errors.js";
import { PipelineStream, type StreamControl, type StreamOptions } from "./stream.js";

/** Work that can be told to end: every running stream, chat turn or request of a pipeline. */
export interface RunningWork {
  /** Asks the work to end because its owner goes away. */
  end(reason: DisposedError): void;
  /** Settles when nothing native runs any more; its rejection is not looked at. */
  readonly ended: Promise<unknown>;
}

/**
 * Guards the life of an object that owns native memory: starts work and tracks it, stops it before the memory is given back,
 * and refuses calls afterwards.
 */
export class Lifecycle {
  readonly #name: string;
  readonly #release: () => Promise<void>;
  readonly #running = new Set<RunningWork>();
  #disposing: Promise<void> | undefined;

  /**
   * @param name - class name used in messages
   * @param release - gives native memory back; called once, after all work has ended
   */
  constructor(name: string, release: () => Promise<void>) {
    this.#name = name;
    this.#release = release;
  }

  get disposed(): boolean {
    return this.#disposing !== undefined;
  }

  /** Pieces of work that run at the moment. */
  get running(): number {
    return this.#running.size;
  }

  /** @throws DisposedError once `dispose()` was called */
  assertUsable(action: string): void {
    if (this.#disposing) {
      throw new DisposedError(`Cannot ${action}: this ${this.#name} was disposed. Load it again to go on.`);
    }
  }

  /**
   * Starts a call as a stream, which is ended when the owner is disposed; its errors point at the caller. Calls of all pipelines
   * start here.
   *
   * @param work - settles only when native work has ended
   */
  start<Chunk, Result>(
    work: (control: StreamControl<Chunk>) => Promise<Result>,
    callSite: CallSite,
    options: StreamOptions<Result>,
  ): PipelineStream<Chunk, Result> {
    const stream = PipelineStream.start<Chunk, Result>((control) => blaming(callSite, () => work(control)), options);
    this.track({ end: (reason) => stream.abort(blameCaller(reason, callSite)), ended: stream.ended });
    return stream;
  }

  /** Registers work until it has ended. */
  track(work: RunningWork): void {
    this.#running.add(work);
    const forget = (): boolean => this.#running.delete(work);
    work.ended.then(forget, forget);
  }

  /** Ends running work, waits for it, gives native memory back. Calling it again returns the same promise. */
  dispose(): Promise<void> {
    this.#disposing ??= this.#disposeOnce();
    return this.#disposing;
  }

  async #disposeOnce(): Promise<void> {
    // Work may register further work while it winds down, so look again until nothing is left.
    while (this.#running.size > 0) {
      const running = [...this.#running];
      for (const work of running) {
        work.end(new DisposedError(`This ${this.#name} was disposed while the call ran.`));
      }
      await Promise.allSettled(running.map((work) => work.ended));
      for (const work of running) this.#running.delete(work);
    }
    await this.#release();
  }
}
