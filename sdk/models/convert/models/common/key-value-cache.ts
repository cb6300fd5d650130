import type { Graph, Value } from "../../ir/graph.js";
import { assign, broadcast, concat, dimension, floats, gather, integers, readValue } from "../../ir/operations.js";

/** What a {@link KeyValueCache} is made for. */
interface CacheSizes {
  heads: number;
  headSize: number;
  /** Name of a variable. Defaults to those of optimum-intel's decoders: the input and the output that it replaced, joined. */
  variable?: (layer: number, kind: "key" | "value") => string;
}

/** Keys and values of the tokens so far: two variables a layer, `[batch, heads, length, headSize]`, empty at first. */
export class KeyValueCache {
  readonly #graph: Graph;
  readonly #beams: Value;
  readonly #sizes: Required<CacheSizes>;
  /** Shape of the state before the first token. */
  readonly #emptyShape: Value;
  readonly #assigned: [value: Value, variable: string][] = [];
  readonly #past = new Map<string, Value>();

  /**
   * @param tokens - its first axis is the batch
   * @param beams - row `beams[n]` of what is stored becomes row `n`
   */
  constructor(graph: Graph, tokens: Value, beams: Value, sizes: CacheSizes) {
    this.#graph = graph;
    this.#beams = beams;
    this.#sizes = { variable: variableName, ...sizes };
    const [heads, none, size] = [sizes.heads, 0, sizes.headSize].map((value) => integers(graph, [value]));
    this.#emptyShape = concat([dimension(tokens, 0, "list"), heads!, none!, size!], 0);
  }

  /** The keys of the first layer before this step: their length is that of the past. */
  get firstPast(): Value {
    return this.#stored(this.#sizes.variable(0, "key"));
  }

  /** @returns all keys or values of a layer */
  append(layer: number, kind: "key" | "value", added: Value): Value {
    const variable = this.#sizes.variable(layer, kind);
    const all = concat([this.#stored(variable), added], -2);
    this.#assigned.push([all, variable]);
    return all;
  }

  /** To be called last: sets all variables for the next step. */
  assignAll(): void {
    for (const [value, variable] of this.#assigned) assign(value, variable);
  }

  #stored(variable: string): Value {
    const known = this.#past.get(variable);
    if (known) return known;
    const { heads, headSize } = this.#sizes;
    const empty = broadcast(floats(this.#graph, [0], []), this.#emptyShape);
    const past = gather(readValue(empty, variable, ["?", heads, "?", headSize]), this.#beams, 0);
    this.#past.set(variable, past);
    return past;
  }
}

function variableName(layer: number, kind: "key" | "value"): string {
  return `past_key_values.${layer}.${kind}present.${layer}.${kind}`;
}
