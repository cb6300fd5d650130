import { inferGraph, type InferOptions } from "../core/infer-graph.js";
import type { NativeGraph } from "../core/native-types.js";
import type { VisionGraphs } from "./families/family.js";

/** The graphs of a model's vision part, opened. */
export class VisionEncoder {
  readonly #graphs: ReadonlyMap<string, NativeGraph>;
  /** Length of a row that the language model takes. */
  readonly hiddenSize: number;
  /** Named where features are wrong. */
  readonly file: string;

  constructor(graphs: ReadonlyMap<string, NativeGraph>, hiddenSize: number, file: string) {
    this.#graphs = graphs;
    this.hiddenSize = hiddenSize;
    this.file = file;
  }

  /** The graphs as a family sees them in one call. */
  graphs(options: InferOptions): VisionGraphs {
    const graphOf = (name: string): NativeGraph => {
      const graph = this.#graphs.get(name);
      if (!graph) throw new Error(`the family does not list ${name} among its graphs`);
      return graph;
    };
    return {
      inputShape: (name, port) => graphOf(name).info.inputs[port]?.shape ?? [],
      run: (name, inputs) => inferGraph(graphOf(name), [...inputs], options),
    };
  }
}
