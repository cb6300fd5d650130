import { open, rename, rm, writeFile, type FileHandle } from "node:fs/promises";
import { throwIfAborted } from "../../core/abort.js";
import type { ElementType } from "./element-type.js";
import type { Graph, GraphNode } from "./graph.js";

/** Constants start at multiples of this, so that kernels can use them where they lie in the mapped file. */
const ALIGNMENT = 64;

/** Names of element types in ports. */
const PRECISION: Record<ElementType, string> = {
  ...{ f32: "FP32", f16: "FP16", bf16: "BF16" },
  ...{ i4: "I4", i8: "I8", u8: "U8", i16: "I16", i32: "I32", i64: "I64", boolean: "BOOL" },
};

/** Where a constant lies in the `.bin` file. */
interface Place {
  offset: number;
  size: number;
}

/** Bytes of all constants of a graph. */
export function constantBytes({ nodes }: Graph): number {
  return nodes.reduce((sum, { data }) => sum + (data?.byteLength ?? 0), 0);
}

/** Bytes of the `.bin` file of a graph: its constants and what lies between them. */
export function binBytes(graph: Graph): number {
  let end = 0;
  for (const { offset, size } of placesOf(graph).values()) end = offset + size;
  return end;
}

/** Where each constant goes: one after the other, in the order in which they were made. */
function placesOf({ nodes }: Graph): Map<GraphNode, Place> {
  const places = new Map<GraphNode, Place>();
  let position = 0;
  for (const node of nodes) {
    if (!node.data) continue;
    const offset = Math.ceil(position / ALIGNMENT) * ALIGNMENT;
    places.set(node, { offset, size: node.data.byteLength });
    position = offset + node.data.byteLength;
  }
  return places;
}

/**
 * Writes a graph as OpenVINO IR: `<path>.xml` and `<path>.bin`. Both have other names until they are complete; the `.bin` file is
 * on the disk, not just on its way there, before it gets its name.
 *
 * @param path - without ending
 * @param onBytes - told how many more bytes of constants are written
 * @throws the signal's reason
 */
export async function writeIr(graph: Graph, path: string, control: WriteControl = {}): Promise<void> {
  const [bin, partial] = [`${path}.bin`, `${path}.bin.partial`];
  try {
    await writeConstants(partial, placesOf(graph), control);
    await rename(partial, bin);
    await writeIrText(graph, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** The `.xml` file alone, for a `.bin` file that is there. */
export async function writeIrText(graph: Graph, path: string): Promise<void> {
  const [xml, partial] = [`${path}.xml`, `${path}.xml.partial`];
  await writeFile(partial, irText(graph, placesOf(graph)));
  await rename(partial, xml);
}

/** What writing reports and what ends it. */
export interface WriteControl {
  signal?: AbortSignal | undefined;
  onBytes?: ((bytes: number) => void) | undefined;
}

async function writeConstants(
  file: string,
  places: ReadonlyMap<GraphNode, Place>,
  { signal, onBytes }: WriteControl,
): Promise<void> {
  const handle = await open(file, "w");
  // While one piece is written the next one is made.
  let writing = Promise.resolve();
  try {
    for (const [{ name, data }, { offset, size }] of places) {
      let position = offset;
      for await (const piece of data!.pieces()) {
        throwIfAborted(signal);
        await writing;
        onBytes?.(piece.length);
        writing = writeAll(handle, piece, position);
        writing.catch(() => undefined);
        position += piece.length;
      }
      if (position - offset !== size) throw new RangeError(`${name} made ${position - offset} bytes instead of ${size}`);
    }
    await writing;
    await handle.datasync();
  } finally {
    await writing.catch(() => undefined);
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
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

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}
