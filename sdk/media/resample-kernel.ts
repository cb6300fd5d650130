/** The part of the global WebAssembly that is used; TypeScript has its types in the library for browsers only. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
}
interface GrowingMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** The functions of resample-kernel.wat. */
export interface ResampleKernel {
  memory: GrowingMemory;
  /** Computes `count` outputs; see resample-kernel.wat. All positions are in bytes. */
  run(
    input: number,
    table: number,
    rowBytes: number,
    phase: number,
    step: number,
    phases: number,
    output: number,
    count: number,
  ): void;
}

/** resample-kernel.wat in binary form; resample-kernel.test.ts tells how to make it again. */
export const KERNEL_BINARY =
  "AGFzbQEAAAABDAFgCH9/f39/f39/AAMCAQAFAwEAAQcQAgZtZW1vcnkCAANydW4AAArKAgHHAgIEfwR7IAYgB0ECdGohCwJAA0AgBiALTw0BIA" +
  "AhCCABIAMgAmxqIQkgCSACaiEK/QwAAAAAAAAAAAAAAAAAAAAAIQz9DAAAAAAAAAAAAAAAAAAAAAAhDf0MAAAAAAAAAAAAAAAAAAAAACEO/QwA" +
  "AAAAAAAAAAAAAAAAAAAAIQ8DQCAMIAj9AAQAIAn9AAQA/eYB/eQBIQwgDSAI/QAEECAJ/QAEEP3mAf3kASENIA4gCP0ABCAgCf0ABCD95gH95A" +
  "EhDiAPIAj9AAQwIAn9AAQw/eYB/eQBIQ8gCEHAAGohCCAJQcAAaiEJIAkgCkkNAAsgDCAN/eQBIA4gD/3kAf3kASEMIAYgDP0fACAM/R8BkiAM" +
  "/R8CIAz9HwOSkjgCACAGQQRqIQYgAyAEaiEDIAAgAyAFbkECdGohACADIAVwIQMMAAsLCw==";

let compiled: object | undefined;

/** A new instance with memory of its own. */
export function createKernel(memoryBytes: number): ResampleKernel {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
  // Small enough to be compiled at once.
  compiled ??= new Module(Buffer.from(KERNEL_BINARY, "base64"));
  const kernel = new Instance(compiled).exports as ResampleKernel;
  const missing = Math.ceil(memoryBytes / 65_536) - kernel.memory.buffer.byteLength / 65_536;
  if (missing > 0) kernel.memory.grow(missing);
  return kernel;
}
