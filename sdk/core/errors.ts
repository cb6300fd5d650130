import type { NativeErrorCode, NativeErrorShape } from "./native-types.js";

const MARKER = Symbol.for("pergola.error");

/** Machine-readable reason of a {@link PergolaError}; one for each subclass. */
export type PergolaErrorCode =
  | "option"
  | "model"
  | "unsupported"
  | "device"
  | "media"
  | "context-length"
  | "busy"
  | "disposed"
  | "download"
  | "native";

/**
 * Base class of everything this SDK throws on purpose.
 *
 * `isInstance` works across two installed copies of the package, where `instanceof` does not.
 */
export class PergolaError extends Error {
  readonly code: PergolaErrorCode;
  /** @internal */
  readonly [MARKER] = true as const;

  constructor(code: PergolaErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    // Not from the class: minifiers rename it. Classes that users derive keep their own name.
    this.name = CODE_OF.has(new.target) ? NAME_OF[code] : new.target.name;
  }

  /** True for errors of this class (or of its subclasses), from any copy of the package. */
  static isInstance<Instance extends PergolaError>(
    this: abstract new (...values: never[]) => Instance,
    value: unknown,
  ): value is Instance {
    if (typeof value !== "object" || value === null || !(MARKER in value)) return false;
    const wanted = CODE_OF.get(this);
    return wanted === undefined || (value as PergolaError).code === wanted;
  }
}

/** An option has a value that cannot be used. */
export class OptionError extends PergolaError {
  /** Path of the option, for example `kvCache.bytes`. */
  readonly path: string;
  readonly expected: string;
  readonly received: unknown;
  /** The option name that was probably meant. */
  readonly suggestion: string | undefined;

  constructor(
    message: string,
    fields: { path: string; expected: string; received: unknown; suggestion?: string | undefined; cause?: unknown },
  ) {
    super("option", message, { cause: fields.cause });
    this.path = fields.path;
    this.expected = fields.expected;
    this.received = fields.received;
    this.suggestion = fields.suggestion;
  }
}

/** Model files are missing, damaged or do not fit together. */
export class ModelError extends PergolaError {
  /** The file or folder concerned. */
  readonly file: string;

  constructor(message: string, fields: { file: string; cause?: unknown }) {
    super("model", message, { cause: fields.cause });
    this.file = fields.file;
  }
}

/** The model or the request asks for something this SDK or the runtime cannot do. */
export class UnsupportedError extends PergolaError {
  /** Architecture, tensor type or feature that is not supported. */
  readonly subject: string;

  constructor(message: string, fields: { subject: string; cause?: unknown }) {
    super("unsupported", message, { cause: fields.cause });
    this.subject = fields.subject;
  }
}

/** The device does not exist or refused the model. */
export class DeviceError extends PergolaError {
  readonly device: string;
  /** Device names that exist on this machine. */
  readonly available: string[];

  constructor(message: string, fields: { device: string; available: string[]; cause?: unknown }) {
    super("device", message, { cause: fields.cause });
    this.device = fields.device;
    this.available = fields.available;
  }
}

/** An image or audio input cannot be read. */
export class MediaError extends PergolaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("media", message, options);
  }
}

/** A request does not fit in the model's context or in the KV cache. */
export class ContextLengthError extends PergolaError {
  /** Tokens that fit. */
  readonly limit: number;
  /** Tokens that were asked for. */
  readonly requested: number;

  constructor(message: string, fields: { limit: number; requested: number; cause?: unknown }) {
    super("context-length", message, { cause: fields.cause });
    this.limit = fields.limit;
    this.requested = fields.requested;
  }
}

/** The object is in use by another call that has not ended; try again when it has. */
export class BusyError extends PergolaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("busy", message, options);
  }
}

/** The pipeline (or chat) was disposed before or while the call ran. */
export class DisposedError extends PergolaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("disposed", message, options);
  }
}

/** A model could not be fetched from the hub, or an image or audio from its URL. */
export class DownloadError extends PergolaError {
  readonly url: string;
  /** HTTP status of the answer, where there was one. */
  readonly status: number | undefined;

  constructor(message: string, fields: { url: string; status?: number | undefined; cause?: unknown }) {
    super("download", message, { cause: fields.cause });
    this.url = fields.url;
    this.status = fields.status;
  }
}

/** The native core could not be loaded, or failed in a way that has no class of its own. */
export class NativeError extends PergolaError {
  constructor(message: string, options?: { cause?: unknown }) {
    super("native", message, options);
  }
}

const NAME_OF: Record<PergolaErrorCode, string> = {
  option: "OptionError",
  model: "ModelError",
  unsupported: "UnsupportedError",
  device: "DeviceError",
  media: "MediaError",
  "context-length": "ContextLengthError",
  busy: "BusyError",
  disposed: "DisposedError",
  download: "DownloadError",
  native: "NativeError",
};

const CODE_OF = new Map<abstract new (...values: never[]) => PergolaError, PergolaErrorCode>([
  [OptionError, "option"],
  [ModelError, "model"],
  [UnsupportedError, "unsupported"],
  [DeviceError, "device"],
  [MediaError, "media"],
  [ContextLengthError, "context-length"],
  [BusyError, "busy"],
  [DisposedError, "disposed"],
  [DownloadError, "download"],
  [NativeError, "native"],
]);

const NATIVE_CODES: ReadonlySet<unknown> = new Set<NativeErrorCode>([
  "model",
  "unsupported",
  "device",
  "context-length",
  "option",
  "disposed",
  "aborted",
  "native",
]);

/** Turns an error of the addon into the SDK's class for it; anything else (a signal's reason, say) is returned as it is. */
export function fromNative(error: unknown, callSite?: { stack?: string }): unknown {
  if (!(error instanceof Error) || PergolaError.isInstance(error)) return error;
  const { code, details = {} } = error as NativeErrorShape;
  if (!NATIVE_CODES.has(code)) return error;
  const cause = error;
  const message = error.message;
  let mapped: PergolaError;
  switch (code) {
    case "model":
      mapped = new ModelError(message, { file: details.file ?? "", cause });
      break;
    case "unsupported":
      mapped = new UnsupportedError(message, { subject: details.subject ?? "", cause });
      break;
    case "device":
      mapped = new DeviceError(message, { device: details.subject ?? "", available: details.available ?? [], cause });
      break;
    case "context-length":
      mapped = new ContextLengthError(message, { limit: details.limit ?? 0, requested: details.requested ?? 0, cause });
      break;
    case "option":
      mapped = new OptionError(message, { path: details.subject ?? "", expected: "", received: undefined, cause });
      break;
    case "disposed":
      mapped = new DisposedError(message, { cause });
      break;
    default:
      mapped = new NativeError(message, { cause });
  }
  const frames = callSite?.stack?.split("\n").slice(1).join("\n");
  if (frames) mapped.stack = `${mapped.name}: ${mapped.message}\n${frames}`;
  return mapped;
}
