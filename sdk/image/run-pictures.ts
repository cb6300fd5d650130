import type { CallSite } from "../core/call-site.js";
import { NativeError } from "../core/errors.js";
import { Job, type JobOutcome } from "../core/job.js";
import type { NativeRequest } from "../core/native-types.js";
import type { LoadedImageModel } from "./image-model.js";

/** The native requests of the pictures of one call. */
export class PictureJobs {
  /** Image tokens of each picture so far. */
  readonly tokens: number[][];
  readonly #jobs: Job[] = [];
  #failure: { error: unknown } | undefined;

  /**
   * Submits all requests; the engine computes them together.
   *
   * @param onTokens - called after tokens have come
   */
  constructor(
    model: LoadedImageModel,
    requests: readonly NativeRequest[],
    callSite: CallSite,
    private readonly onTokens: (tokens: readonly (readonly number[])[]) => void,
  ) {
    const { generator, events } = model;
    this.tokens = requests.map(() => []);
    try {
      for (const [index, request] of requests.entries()) {
        const receive = (ids: number[]): void => this.#receive(index, ids);
        this.#jobs.push(new Job({ generator, events, request, callSite, onTokens: receive }));
      }
    } catch (error) {
      this.fail(error);
    }
  }

  /** Ends all requests; what has come stays. */
  stop(): void {
    for (const job of this.#jobs) job.stop();
  }

  /** Ends all requests, because of an error that {@link ended} throws. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.stop();
  }

  /**
   * Waits until all requests have left the native side.
   *
   * @param wholePicture - tokens that a picture must have unless it was stopped
   * @throws the first error of any of them
   */
  async ended(wholePicture: number): Promise<JobOutcome[]> {
    const outcomes = await Promise.all(
      this.#jobs.map((job) =>
        job.ended.catch((error: unknown) => {
          this.fail(error);
          return undefined;
        }),
      ),
    );
    if (this.#failure) throw this.#failure.error;
    const ended = outcomes.filter((outcome) => outcome !== undefined);
    const short = ended.findIndex(
      ({ reason }, index) => reason !== "stopped" && this.tokens[index]!.length < wholePicture,
    );
    if (short >= 0) {
      throw new NativeError(
        `The engine ended picture ${short} after ${this.tokens[short]!.length} of ${wholePicture} tokens.`,
      );
    }
    return ended;
  }

  #receive(index: number, ids: readonly number[]): void {
    this.tokens[index]!.push(...ids);
    this.onTokens(this.tokens);
  }
}
