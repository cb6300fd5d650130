import { fromNative } from "./errors.js";
import { getNative } from "./native.js";
import type { NativeEventRouter, RequestEvent } from "./native-events.js";
import type { NativeEvent, NativeGenerator, NativeRequest, NativeRequestTimings } from "./native-types.js";

export type TokenLogprobs = NonNullable<Extract<NativeEvent, { type: "tokens" }>["logprobs"]>[number];

/** How a native request ended. */
export interface JobOutcome {
  /** `stopped`: {@link Job.stop} was called before all tokens had come. */
  reason: "stop" | "length" | "stopped";
  /** The stop token that ended the answer. */
  stopToken: number | undefined;
  /** Prompt tokens that were found in the prefix cache. */
  cachedTokens: number;
  timings: NativeRequestTimings;
}

export interface JobOptions {
  generator: NativeGenerator;
  events: NativeEventRouter;
  request: NativeRequest;
  /** Receives tokens in order; not called any more after `stop()`. An exception ends the job with that error. */
  onTokens(ids: number[], logprobs: TokenLogprobs[] | undefined): void;
  /** An `Error` made where the user called; its stack goes onto native errors. */
  callSite?: { stack?: string };
}

/** One native request: submitted on creation, ended by itself or by {@link stop}. */
export class Job {
  /** Resolves, or rejects with the SDK's error class, when the request has left the native side. */
  readonly ended: Promise<JobOutcome>;
  readonly #options: JobOptions;
  readonly #id: number;
  #stopped = false;
  /** Tokens arrived after {@link stop} and were not delivered. */
  #dropped = false;
  #cachedTokens = 0;
  #failure: { error: unknown } | undefined;
  #settle!: { resolve(outcome: JobOutcome): void; reject(error: unknown): void };

  /** @throws what `submit` throws, as the SDK's class */
  constructor(options: JobOptions) {
    this.#options = options;
    try {
      this.#id = options.generator.submit(options.request);
    } catch (error) {
      throw fromNative(error, options.callSite);
    }
    this.ended = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    options.events.onRequest(this.#id, (event) => this.#receive(event));
  }

  /** Asks the request to end and drops what still arrives. `ended` tells when it has. */
  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    getNative().stop(this.#id);
  }

  #receive(event: RequestEvent): void {
    switch (event.type) {
      case "start":
        this.#cachedTokens = event.cachedTokens;
        return;
      case "tokens":
        this.#deliver(event.ids, event.logprobs);
        return;
      case "end":
        if (this.#failure) this.#settle.reject(this.#failure.error);
        else
          this.#settle.resolve({
            // The request may have run to its end before `stop` reached it.
            reason: this.#dropped ? "stopped" : event.reason,
            stopToken: this.#dropped ? undefined : event.stopToken,
            cachedTokens: this.#cachedTokens,
            timings: event.timings,
          });
        return;
      case "error":
        this.#settle.reject(this.#failure?.error ?? fromNative(event.error, this.#options.callSite));
    }
  }

  #deliver(ids: number[], logprobs: TokenLogprobs[] | undefined): void {
    if (this.#stopped) {
      this.#dropped = true;
      return;
    }
    try {
      this.#options.onTokens(ids, logprobs);
    } catch (error) {
      this.#failure = { error };
      this.stop();
    }
  }
}
