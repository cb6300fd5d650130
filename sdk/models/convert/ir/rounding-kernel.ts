import type { RoundedGroups, RoundedRows } from "./rounding.js";

/** The part of the global WebAssembly that is used; TypeScript has its types in the library for browsers only. */
interface WebAssemblyApi {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: unknown };
}

/** The functions of rounding-kernel.wat. Positions are in bytes, counts in values. */
interface KernelFunctions {
  memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  widenBfloat(input: number, output: number, count: number): void;
  widenHalf(input: number, output: number, count: number): void;
  narrowHalf(input: number, output: number, count: number): void;
  largest(input: number, count: number): number;
  roundRows(input: number, rows: number, rowLength: number, output: number, scales: number): void;
  roundGroups(
    input: number,
    groups: number,
    group: number,
    steps: number,
    stepCount: number,
    output: number,
    scales: number,
  ): void;
}

/** rounding-kernel.wat in binary form; rounding-kernel.test.ts tells how to make it again. */
export const KERNEL_BINARY =
  "AGFzbQEAAAABLwdgA39/fwBgAXsBe2ACf38Bf2AFf39/f38AYAJ7ewF7YAF7AX1gB39/f39/f38AAwsKAAEAAQACAwQFBgUDAQABB1UHBm1lbW9yeQ" +
  "IAC3dpZGVuQmZsb2F0AAAJd2lkZW5IYWxmAAIKbmFycm93SGFsZgAEB2xhcmdlc3QABQlyb3VuZFJvd3MABgtyb3VuZEdyb3VwcwAJCqkOClUCAX8B" +
  "eyAAIAJBAXRqIQMCQANAIAAgA08NASAA/QAEACEEIAEgBP2pAUEQ/asB/QsEACABIAT9qgFBEP2rAf0LBBAgAEEQaiEAIAFBIGohAQwACwsLhQEBAX" +
  "sgAP0M/38AAP9/AAD/fwAA/38AAP1OQQ39qwH9DAAAgHcAAIB3AACAdwAAgHf95gEhASABIAH9DAAAgEcAAIBHAACARwAAgEf9Rv0MAACAfwAAgH8A" +
  "AIB/AACAf/1O/VAhASABIAD9DACAAAAAgAAAAIAAAACAAAD9TkEQ/asB/VALTwIBfwF7IAAgAkEBdGohAwJAA0AgACADTw0BIAD9AAQAIQQgASAE/a" +
  "kBEAH9CwQAIAEgBP2qARAB/QsEECAAQRBqIQAgAUEgaiEBDAALCwvxAQEDeyAA/Qz///9/////f////3////9//U4hASAB/QwB8P83AfD/NwHw/zcB" +
  "8P83/bEBIAFBDf2tAf0MAQAAAAEAAAABAAAAAQAAAP1O/a4BQQ39rQEhAiAB/QwAAAA/AAAAPwAAAD8AAAA//eQB/QwAAAA/AAAAPwAAAD8AAAA//b" +
  "EBIQMgAyACIAH9DAAAgDgAAIA4AACAOAAAgDj9Of1SIQL9DAB8AAAAfAAAAHwAAAB8AAAgAiAB/QwA8H9HAPB/RwDwf0cA8H9H/T/9UiECIAIgAEEQ" +
  "/a0B/QwAgAAAAIAAAACAAAAAgAAA/U79UAtEAQF/IAAgAkECdGohAwJAA0AgACADTw0BIAEgAP0ABAAQAyAA/QAEEBAD/YYB/QsEACAAQSBqIQAgAU" +
  "EQaiEBDAALCwuwAQIBfwJ7IAAgAUECdGohAgJAA0AgACACTw0BIAMgAP0ABAD9DP///3////9/////f////3/9Tv24ASEDIAQgAP0ABBD9DP///3//" +
  "//9/////f////3/9Tv24ASEEIABBIGohAAwACwsgAyAE/bgBIQMgAyADIAP9DQgJCgsMDQ4PAAECAwQFBgf9uAEhAyADIAMgA/0NBAUGBwABAgMMDQ" +
  "4PCAkKC/24ASEDIAP9GwALuQEDAX8BfQJ7AkADQCABRQ0BIAAgAhAFvkMAAP5ClSEGIAZDAAAAAFsEQEMAAIA/IQYLIAQgBjgCACAG/RMhByAAIAJB" +
  "AnRqIQUDQCAA/QAEACAH/ecB/Wr9+AEgAP0ABBAgB/3nAf1q/fgB/YUBIQggCEH/AP0Q/ZYBQYF//RD9mAEhCCADIAggCP1l/VsDAAAgAEEgaiEAIA" +
  "NBCGohAyAAIAVJDQALIARBBGohBCABQQFrIQEMAAsLCzUA/QwAAADBAAAAwQAAAMEAAADB/QwAAOBAAADgQAAA4EAAAOBAIAAgAf3mAf1q/eoB/esB" +
  "CxkAIAD9HwAgAP0fAZIgAP0fAiAA/R8DkpILhAYEBH8EfQx7A30gAyAEQQJ0aiEKAkADQCABRQ0BIAAgAkECdGohCP0MAAAAAAAAAAAAAAAAAAAAAC" +
  "EP/QwAAAAAAAAAAAAAAAAAAAAAIRAgACEHA0AgB/0ABAAhESAPIBH96wEhDyAQIBH96gEhECAHQRBqIQcgByAISQ0ACyAP/R8AIA/9HwGXIA/9HwIg" +
  "D/0fA5eXIQsgEP0fACAQ/R8BliAQ/R8CIBD9HwOWliEMIAyMIAteBEAgDCELC0MAAIA/IQ79DAAAAAAAAAAAAAAAAAAAAAAhFiALi0N3zCsyXgRAQw" +
  "AAgL8hDSADIQkDQCAJKgIAjCALlf0TIRX9DAAAAAAAAAAAAAAAAAAAAAAhF/0MAAAAAAAAAAAAAAAAAAAAACEY/QwAAAAAAAAAAAAAAAAAAAAAIRn9" +
  "DAAAAAAAAAAAAAAAAAAAAAAhGiAAIQcDQCAH/QAEACERIAf9AAQQIRP9DAAAAMEAAADBAAAAwQAAAMH9DAAA4EAAAOBAAADgQAAA4EAgESAV/eYB/W" +
  "r96gH96wEhEv0MAAAAwQAAAMEAAADBAAAAwf0MAADgQAAA4EAAAOBAAADgQCATIBX95gH9av3qAf3rASEUIBEgEv3mASESIBMgFP3mASEUIBcgESAR" +
  "/eYBIBL95gH95AEhFyAYIBIgEv3mAf3kASEYIBkgEyAT/eYBIBT95gH95AEhGSAaIBQgFP3mAf3kASEaIAdBIGohByAHIAhJDQALIBcgGf3kARAIIR" +
  "sgGCAa/eQBEAghHCAbIByVIBuUIR0gHSANXgRAIB0hDSAbIByVIQ4gFSEWCyAJQQRqIQkgCSAKSQ0ACwsgBiAOOAIAA0AgAP0ABAAgFhAH/fgBIAD9" +
  "AAQQIBYQB/34Af2FAUEP/RD9TiESIBIgEkEM/a0B/VD9DP8AAAD/AAAA/wAAAP8AAAD9TiESIBIgEv2GASESIAUgEiAS/Wb9WgIAACAAQSBqIQAgBU" +
  "EEaiEFIAAgCEkNAAsgBkEEaiEGIAFBAWshAQwACwsL";

/** Bits of the smallest f32 that is no number. */
const INFINITE = 0x7f800000;
/** All loops take so many values at a time. */
export const KERNEL_STRIDE = 8;
const PAGE_BYTES = 65_536;

/**
 * The inner loops of a conversion, in WebAssembly: an eighth of the time of the plain ones. Values lie in memory of their own,
 * as f32; every result is copied out.
 */
export class RoundingKernel {
  readonly #functions: KernelFunctions;
  #count = 0;
  /** Where results go: behind the values. */
  #output = 0;

  constructor() {
    const { Module, Instance } = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
    const module = new Module(Buffer.from(KERNEL_BINARY, "base64"));
    this.#functions = new Instance(module).exports as KernelFunctions;
  }

  /**
   * Takes values in.
   *
   * @param bytes - little-endian; a multiple of {@link KERNEL_STRIDE} values
   * @returns false if one is infinite or not a number
   */
  load(bytes: Uint8Array, type: "f32" | "f16" | "bf16"): boolean {
    const count = bytes.length >> (type === "f32" ? 2 : 1);
    this.#count = count;
    this.#output = 4 * count;
    // Room for the values, for results of up to 4 bytes a value, and for what rows and groups have.
    this.#reserve(4 * count + 4 * count + PAGE_BYTES);
    if (type === "f32") {
      this.#view(0, bytes.length).set(bytes);
    } else {
      this.#view(this.#output, bytes.length).set(bytes);
      if (type === "bf16") this.#functions.widenBfloat(this.#output, 0, count);
      else this.#functions.widenHalf(this.#output, 0, count);
    }
    return this.#functions.largest(0, count) < INFINITE;
  }

  /** The values as f32. */
  floats(): Float32Array {
    return new Float32Array(this.#functions.memory.buffer.slice(0, 4 * this.#count));
  }

  /** The values in half precision; those that it cannot hold become infinite. */
  halves(): Uint16Array {
    this.#functions.narrowHalf(0, this.#output, this.#count);
    return new Uint16Array(this.#functions.memory.buffer.slice(this.#output, this.#output + 2 * this.#count));
  }

  /** What {@link roundRows} makes. @param rowLength - a multiple of {@link KERNEL_STRIDE} */
  rows(rowLength: number): RoundedRows {
    const rows = this.#count / rowLength;
    const scales = this.#output + this.#count;
    this.#functions.roundRows(0, rows, rowLength, this.#output, scales);
    const { buffer } = this.#functions.memory;
    return {
      rounded: new Int8Array(buffer.slice(this.#output, scales)),
      scales: new Float32Array(buffer.slice(scales, scales + 4 * rows)),
    };
  }

  /** What {@link roundGroups} makes. @param group - a multiple of {@link KERNEL_STRIDE} */
  groups(group: number, steps: readonly number[]): RoundedGroups {
    const groups = this.#count / group;
    const scales = this.#output + this.#count;
    const stepsAt = scales + 4 * groups;
    new Float32Array(this.#functions.memory.buffer, stepsAt, steps.length).set(steps);
    this.#functions.roundGroups(0, groups, group, stepsAt, steps.length, this.#output, scales);
    const { buffer } = this.#functions.memory;
    return {
      packed: new Uint8Array(buffer.slice(this.#output, this.#output + this.#count / 2)),
      scales: new Float32Array(buffer.slice(scales, stepsAt)),
    };
  }

  #view(start: number, length: number): Uint8Array {
    return new Uint8Array(this.#functions.memory.buffer, start, length);
  }

  #reserve(bytes: number): void {
    const { memory } = this.#functions;
    const missing = Math.ceil((bytes - memory.buffer.byteLength) / PAGE_BYTES);
    if (missing > 0) memory.grow(missing);
  }
}
