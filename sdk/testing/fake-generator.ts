import type {
  NativeErrorCode,
  NativeErrorShape,
  NativeEvent,
  NativeGenerator,
  NativeGeneratorInfo,
  NativeGeneratorStats,
  NativeRequest,
  NativeRequestTimings,
} from "../core/native-types.js";

/** What the fake engine answers to one request. */
export interface FakeAnswer {
  /** Tokens in order. A stop token of the request among them ends the answer there; after the last one it ends as if one came. */
  ids: number[];
  /** Tokens in one event; several to imitate a busy main thread. Defaults to 1. */
  tokensPerEvent?: number;
  /** Prompt tokens reported as found in the prefix cache. Defaults to 0. */
  cachedTokens?: number;
  /** Ends the request with this error after `afterTokens` tokens. */
  error?: { code: NativeErrorCode; message: string; afterTokens: number; details?: NativeErrorShape["details"] };
}

/** Decides the answer from the request. */
export type FakeAnswers = (request: NativeRequest) => FakeAnswer;

interface Running {
  id: number;
  request: NativeRequest;
  answer: FakeAnswer;
  started: boolean;
  produced: number;
  stopRequested: boolean;
}

/** Makes an error as the addon makes them. */
export function fakeNativeError(
  code: NativeErrorCode,
  message: string,
  details?: NativeErrorShape["details"],
): NativeErrorShape {
  return Object.assign(new Error(message), { code, ...(details ? { details } : {}) });
}

/**
 * A generator that follows scripts instead of a model. One step (of all requests) runs in each turn of the event loop;
 * {@link hold} and {@link release} take that into the test's hands.
 */
export class FakeGenerator implements NativeGenerator {
  readonly info: NativeGeneratorInfo;
  /** Every request that was submitted, in order. */
  readonly requests: NativeRequest[] = [];
  closed = false;
  readonly #answers: FakeAnswers;
  readonly #emit: (events: NativeEvent[]) => void;
  readonly #nextId: () => number;
  readonly #running: Running[] = [];
  #steps = 0;
  #generated = 0;
  #held = false;
  #allowance = 0;
  #scheduled = false;
  #closing: Promise<void> | undefined;
  #closeDone: (() => void) | undefined;

  constructor(parts: {
    info: NativeGeneratorInfo;
    answers: FakeAnswers;
    emit: (events: NativeEvent[]) => void;
    nextId: () => number;
  }) {
    this.info = parts.info;
    this.#answers = parts.answers;
    this.#emit = parts.emit;
    this.#nextId = parts.nextId;
  }

  /** Requests that have not had their last event. */
  get runningCount(): number {
    return this.#running.length;
  }

  /** No steps until {@link release}. */
  hold(): void {
    this.#held = true;
  }

  /** Lets this many steps happen, or all from now on. */
  release(steps?: number): void {
    if (steps === undefined) this.#held = false;
    else this.#allowance += steps;
    this.#schedule();
  }

  submit(request: NativeRequest): number {
    if (this.#closing) throw fakeNativeError("disposed", "the generator is closed");
    const id = this.#nextId();
    this.requests.push(request);
    this.#running.push({
      id,
      request,
      answer: this.#answers(request),
      started: false,
      produced: 0,
      stopRequested: false,
    });
    this.#schedule();
    return id;
  }

  /** What the addon's `stop` does. */
  stop(request: number): void {
    const running = this.#running.find(({ id }) => id === request);
    if (!running) return;
    running.stopRequested = true;
    this.#schedule();
  }

  stats(): NativeGeneratorStats {
    return {
      running: this.#running.length,
      waiting: 0,
      steps: this.#steps,
      preemptions: 0,
      cachedTokens: 0,
      promptTokens: this.requests.reduce((sum, { promptIds }) => sum + promptIds.length, 0),
      generatedTokens: this.#generated,
      blocksTotal: 0,
      blocksUsed: 0,
      blocksCached: 0,
      kvBytes: 0,
      inferMs: 0,
      sampleMs: 0,
    };
  }

  close(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#closeDone = resolve;
      for (const running of this.#running) running.stopRequested = true;
      this.#schedule();
    });
    return this.#closing;
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#step();
    });
  }

  #step(): void {
    const mayProduce = !this.#held || this.#allowance > 0;
    if (mayProduce && this.#held) this.#allowance--;
    const events: NativeEvent[] = [];
    for (const running of [...this.#running]) {
      // Stopping is seen between steps, so it needs no step of its own.
      if (running.stopRequested) this.#end(running, "stopped", events);
      else if (mayProduce) this.#advance(running, events);
    }
    if (mayProduce) this.#steps++;
    if (events.length > 0) this.#emit(events);
    if (
      this.#running.length > 0 &&
      (!this.#held || this.#allowance > 0 || this.#running.some((r) => r.stopRequested))
    ) {
      this.#schedule();
    }
    if (this.#closing && this.#running.length === 0 && !this.closed) {
      this.closed = true;
      this.#closeDone?.();
    }
  }

  #advance(running: Running, events: NativeEvent[]): void {
    const { request, answer } = running;
    if (!running.started) {
      running.started = true;
      events.push({ type: "start", request: running.id, cachedTokens: answer.cachedTokens ?? 0 });
    }
    const ids: number[] = [];
    let ending: (() => void) | undefined;
    while (ids.length < (answer.tokensPerEvent ?? 1) && !ending) {
      const done = running.produced + ids.length;
      const next = answer.ids[done];
      const mayStop = done >= request.minNewTokens;
      if (answer.error && done >= answer.error.afterTokens) ending = () => this.#fail(running, events);
      else if (next === undefined) ending = () => this.#end(running, "stop", events, request.stopTokenIds[0]);
      else if (mayStop && request.stopTokenIds.includes(next)) ending = () => this.#end(running, "stop", events, next);
      else {
        ids.push(next);
        const total = request.promptIds.length + done + 1;
        if (done + 1 >= request.maxNewTokens || total >= this.info.maxRequestTokens) {
          ending = () => this.#end(running, "length", events);
        }
      }
    }
    running.produced += ids.length;
    this.#generated += ids.length;
    if (ids.length > 0) events.push({ type: "tokens", request: running.id, ids, ...logprobsOf(request, ids) });
    ending?.();
  }

  #end(running: Running, reason: "stop" | "length" | "stopped", events: NativeEvent[], stopToken?: number): void {
    this.#running.splice(this.#running.indexOf(running), 1);
    const timings: NativeRequestTimings = {
      queueMs: 1,
      prefillMs: running.started ? 10 : 0,
      decodeMs: Math.max(0, running.produced - 1) * 2,
      firstTokenMs: running.produced > 0 ? 11 : 0,
      preemptions: 0,
    };
    events.push({
      type: "end",
      request: running.id,
      reason,
      timings,
      ...(stopToken === undefined ? {} : { stopToken }),
    });
  }

  #fail(running: Running, events: NativeEvent[]): void {
    this.#running.splice(this.#running.indexOf(running), 1);
    const { code, message, details } = running.answer.error!;
    events.push({ type: "error", request: running.id, error: fakeNativeError(code, message, details) });
  }
}

/** Made-up but recognisable values: token t has log probability -t/1000, and the alternatives count up from it. */
function logprobsOf(
  request: NativeRequest,
  ids: number[],
): { logprobs?: { logprob: number; top: [number, number][] }[] } {
  const { logprobs } = request.sampling;
  if (logprobs < 0) return {};
  return {
    logprobs: ids.map((id) => ({
      logprob: -id / 1000,
      top: Array.from({ length: logprobs }, (_, index): [number, number] => [id + index, -(id + index) / 1000]),
    })),
  };
}
