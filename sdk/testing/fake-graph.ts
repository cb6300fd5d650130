import path from "node:path";
import type {
  NativeGraph,
  NativeGraphInfo,
  NativeGraphOptions,
  NativeJob,
  NativeTensor,
} from "../core/native-types.js";
import { fakeNativeError } from "./fake-generator.js";

/** What a graph computes: the inputs as they were passed, to one tensor for each output. May throw what the addon would. */
export type FakeGraphScript = (inputs: NativeTensor[], options: NativeGraphOptions) => NativeTensor[];

/** Scripts by the name of the graph's file without its ending, for example `openvino_vision_embeddings_model`. */
export type FakeGraphScripts = Record<string, FakeGraphScript>;

interface Waiting {
  job: number;
  inputs: NativeTensor[];
  resolve(outputs: NativeTensor[]): void;
  reject(error: unknown): void;
}

/** A graph that follows a script. Inferences run one in each turn of the event loop, in order; {@link hold} keeps them waiting. */
export class FakeGraph implements NativeGraph {
  readonly info: NativeGraphInfo;
  readonly options: NativeGraphOptions;
  /** Inputs of every inference that ran, in order. */
  readonly inferences: NativeTensor[][] = [];
  closed = false;
  readonly #script: FakeGraphScript;
  readonly #nextId: () => number;
  readonly #waiting: Waiting[] = [];
  #held = false;
  #scheduled = false;

  constructor(parts: {
    options: NativeGraphOptions;
    script: FakeGraphScript | undefined;
    info?: Partial<NativeGraphInfo> | undefined;
    nextId: () => number;
  }) {
    const { options } = parts;
    this.options = options;
    this.#script = parts.script ?? (() => []);
    this.#nextId = parts.nextId;
    this.info = {
      device: options.device,
      inputs: [],
      outputs: [],
      fromCache: false,
      shared: false,
      timings: { readMs: 1, compileMs: 1, importMs: 0 },
      ...parts.info,
    };
  }

  /** Name of the graph's file without its ending. */
  get name(): string {
    return graphName(this.options);
  }

  /** Inferences that have not ended. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** No inference runs until {@link release}; they can be stopped meanwhile. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    this.#schedule();
  }

  infer(inputs: NativeTensor[]): NativeJob<NativeTensor[]> {
    if (this.closed) throw fakeNativeError("disposed", "the graph is closed");
    const job = this.#nextId();
    const promise = new Promise<NativeTensor[]>((resolve, reject) => {
      this.#waiting.push({ job, inputs, resolve, reject });
    });
    this.#schedule();
    return { job, promise };
  }

  /** What the addon's `stop` does. */
  stop(job: number): void {
    const index = this.#waiting.findIndex((waiting) => waiting.job === job);
    if (index < 0) return;
    const [waiting] = this.#waiting.splice(index, 1);
    setImmediate(() => waiting!.reject(fakeNativeError("aborted", "the inference was stopped")));
  }

  close(): Promise<void> {
    this.closed = true;
    for (const { job } of [...this.#waiting]) this.stop(job);
    return new Promise((resolve) => setImmediate(resolve));
  }

  #schedule(): void {
    if (this.#scheduled || this.#held || this.#waiting.length === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (this.#held) return;
      const waiting = this.#waiting.shift();
      if (!waiting) return;
      this.inferences.push(waiting.inputs);
      try {
        waiting.resolve(this.#script(waiting.inputs, this.options));
      } catch (error) {
        waiting.reject(error);
      }
      this.#schedule();
    });
  }
}

/** Name of a graph's file without its ending. */
export function graphName({ xml }: Pick<NativeGraphOptions, "xml">): string {
  return path.basename(xml, ".xml");
}
