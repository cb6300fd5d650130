import { fromNative } from "./errors.js";
import { getNative } from "./native.js";

/** What this machine and this installation are. */
export interface SystemInfo {
  /** Version of the OpenVINO runtime in use. */
  runtime: string;
  /** How the native core was built. */
  build: string;
  cpuModel: string;
  /** The CPU features that matter to the kernels: `avx2`, `avx512f`, `avx512_vnni`, `amx_int8`, ... */
  cpuFlags: string[];
  totalMemoryBytes: number;
  /** Memory that a new model could take now. */
  availableMemoryBytes: number;
}

/**
 * Tells about the machine and the native core.
 *
 * @throws NativeError if the native core cannot be loaded
 */
export function systemInfo(): SystemInfo {
  const callSite = new Error();
  try {
    const native = getNative();
    return { runtime: native.info.runtime, build: native.info.build, ...native.systemInfo() };
  } catch (error) {
    throw fromNative(error, callSite);
  }
}
