import type { ElementType } from "../read/element-type.js";

/** Values of a constant, made when the file is written. */
interface ConstantData {
  readonly byteLength: number;
  /** Uses what the constant before it leaves behind (scales, for instance): neither is made without the other. */
  readonly follows?: boolean;
  /**
   * The bytes in order, in pieces. Constants are written in the order in which they were added to the graph, each once; after an
   * interruption the first ones may be there already.
   */
  pieces(): AsyncIterable<Uint8Array>;
}

/** A layer of the graph. */
export interface GraphNode {
  readonly id: number;
  /** OpenVINO operation, for example `MatMul`. */
  readonly type: string;
  /** Set of operations that it belongs to, for example `opset1`. */
  readonly version: string;
  name: string;
  readonly inputs: readonly Value[];
  readonly attributes: Readonly<Record<string, string>>;
  /** `null` for operations without an output. */
  readonly output: ElementType | null;
  /** Names under which programs find the output. */
  readonly outputNames: string[];
  /** Attributes of `rt_info`, by name; for example `decompression`. */
  readonly runtimeInfo: readonly string[];
  readonly data?: ConstantData;
}

/** The output of a node. (No operation used so far has more than one.) */
export interface Value {
  readonly graph: Graph;
  readonly node: GraphNode;
  readonly type: ElementType;
}

/** What a node needs besides its inputs. */
interface NodeDescription {
  version?: string;
  inputs?: readonly Value[];
  attributes?: Record<string, string | number | boolean>;
  output: ElementType;
  runtimeInfo?: string[];
  data?: ConstantData;
}

/**
 * An OpenVINO graph under construction. Nodes are kept in the order in which they are made, so inputs always come before
 * the nodes that use them.
 *
 * Shapes are not computed here: the runtime infers them when it reads the file.
 */
export class Graph {
  readonly name: string;
  readonly nodes: GraphNode[] = [];
  /** Properties that the runtime takes over when it compiles the model, for example `KV_CACHE_PRECISION`. */
  readonly runtimeOptions: Record<string, string> = {};
  readonly #names = new Set<string>();
  #scope = "";

  constructor(name: string) {
    this.name = name;
  }

  /** Puts `prefix/` in front of the names of all nodes that `build` makes. */
  scope<Result>(prefix: string, build: () => Result): Result {
    const outer = this.#scope;
    this.#scope = outer === "" ? prefix : `${outer}.${prefix}`;
    try {
      return build();
    } finally {
      this.#scope = outer;
    }
  }

  add(type: string, { version = "opset1", inputs = [], attributes = {}, ...rest }: NodeDescription): Value {
    const { output, runtimeInfo = [], data } = rest;
    const node: GraphNode = {
      ...{ id: this.nodes.length, type, version, inputs, output, runtimeInfo, outputNames: [] },
      name: this.#unused(this.#scope === "" ? type : `${this.#scope}/${type}`),
      attributes: Object.fromEntries(Object.entries(attributes).map(([key, value]) => [key, String(value)])),
      ...(data && { data }),
    };
    this.nodes.push(node);
    return { graph: this, node, type: output };
  }

  /** Adds a node without output: `Result` or `Assign`. */
  addSink(type: string, input: Value, version: string, attributes: Record<string, string> = {}): void {
    const name = this.#unused(type);
    this.nodes.push({
      ...{ id: this.nodes.length, type, version, name, attributes },
      ...{ inputs: [input], output: type === "Assign" ? input.type : null, outputNames: [], runtimeInfo: [] },
    });
  }

  /** Gives a node a name of its own, under which transformations of the runtime or of other programs find it. */
  rename(value: Value, name: string): Value {
    this.#names.delete(value.node.name);
    value.node.name = this.#unused(name);
    return value;
  }

  #unused(wanted: string): string {
    let name = wanted;
    for (let count = 1; this.#names.has(name); count++) name = `${wanted}_${count}`;
    this.#names.add(name);
    return name;
  }
}
