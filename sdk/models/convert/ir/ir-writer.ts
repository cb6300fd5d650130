import { rename, rm, writeFile } from "node:fs/promises";
import { placesOf, writeConstants, type Place, type WriteControl } from "./constants-file.js";
import type { ElementType } from "../read/element-type.js";
import type { Graph, GraphNode } from "./graph.js";

/** Names of element types in ports. */
const PRECISION: Record<ElementType, string> = {
  ...{ f32: "FP32", f16: "FP16", bf16: "BF16" },
  ...{ i4: "I4", i8: "I8", u8: "U8", i16: "I16", i32: "I32", i64: "I64", boolean: "BOOL" },
};

/**
 * Writes a graph as OpenVINO IR: `<path>.xml` and `<path>.bin`. Both have other names until they are complete.
 *
 * @param path - without ending
 * @throws the signal's reason
 */
export async function writeIr(graph: Graph, path: string, control: WriteControl = {}): Promise<void> {
  await writeConstants(graph, `${path}.bin`, control);
  await writeIrText(graph, path);
}

/** The `.xml` file alone, for a `.bin` file that is there. */
export async function writeIrText(graph: Graph, path: string): Promise<void> {
  const [xml, partial] = [`${path}.xml`, `${path}.xml.partial`];
  try {
    await writeFile(partial, irText(graph, placesOf(graph)));
    await rename(partial, xml);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** The `.xml` text. Port shapes are left out: the runtime infers them. */
function irText(graph: Graph, places: ReadonlyMap<GraphNode, Place>): string {
  const layers: string[] = [];
  const edges: string[] = [];
  for (const node of graph.nodes) {
    layers.push(layerText(node, places.get(node)));
    node.inputs.forEach(({ node: from }, port) => {
      edges.push(
        `<edge from-layer="${from.id}" from-port="${from.inputs.length}" to-layer="${node.id}" to-port="${port}"/>`,
      );
    });
  }
  const options = Object.entries(graph.runtimeOptions).map(([name, value]) => `<${name} value="${escape(value)}"/>`);
  return [
    `<?xml version="1.0"?>`,
    `<net name="${escape(graph.name)}" version="11">`,
    `<layers>`,
    ...layers,
    `</layers>`,
    `<edges>`,
    ...edges,
    `</edges>`,
    `<rt_info><conversion_parameters><framework value="pergola"/></conversion_parameters>`,
    options.length > 0 ? `<runtime_options>${options.join("")}</runtime_options></rt_info>` : `</rt_info>`,
    `</net>`,
    ``,
  ].join("\n");
}

function layerText(node: GraphNode, place: Place | undefined): string {
  const { id, name, type, version, attributes, inputs, output, outputNames, runtimeInfo } = node;
  const data = Object.entries({ ...attributes, ...place }).map(([key, value]) => ` ${key}="${escape(String(value))}"`);
  const parts = [`<layer id="${id}" name="${escape(name)}" type="${type}" version="${version}">`];
  if (data.length > 0) parts.push(`<data${data.join("")}/>`);
  if (runtimeInfo.length > 0) {
    parts.push(`<rt_info>${runtimeInfo.map((info) => `<attribute name="${info}" version="0"/>`).join("")}</rt_info>`);
  }
  if (inputs.length > 0) {
    const ports = inputs.map(({ type: precision }, port) => `<port id="${port}" precision="${PRECISION[precision]}"/>`);
    parts.push(`<input>${ports.join("")}</input>`);
  }
  if (output !== null) {
    const names = outputNames.length > 0 ? ` names="${escape(outputNames.join(","))}"` : "";
    parts.push(`<output><port id="${inputs.length}" precision="${PRECISION[output]}"${names}/></output>`);
  }
  return `${parts.join("")}</layer>`;
}

const ENTITIES: Record<string, string> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" },
  // As they are, white space in attributes is read as blanks.
  ...{ "\t": "&#9;", "\n": "&#10;", "\r": "&#13;" },
};
/** What XML cannot hold, not even as a number. */
// eslint-disable-next-line no-control-regex
const IMPOSSIBLE = /\p{Surrogate}|[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/gu;

function escape(text: string): string {
  return text.replace(/[&<>"\t\n\r]/g, (character) => ENTITIES[character]!).replace(IMPOSSIBLE, "\ufffd");
}
