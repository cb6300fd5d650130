import { Option, type Command } from "commander";
import type { ImageLoadOptions, LoadOptions, VLMLoadOptions } from "../index.js";
import {
  addDeviceFlags,
  addKvFlags,
  parseNumber,
  toDeviceOptions,
  toKvOptions,
  type DeviceFlags,
  type KvFlags,
} from "./flags.js";

// Which numbers are possible is the SDK's to check.
type GroupSize = NonNullable<ImageLoadOptions["groupSize"]>;

/** What the flags of {@link addCheckpointFlags} give. */
export interface CheckpointFlags extends DeviceFlags, KvFlags {
  weights?: "f16" | "int8" | "int4";
  groupSize?: GroupSize;
}

/** Flags about loading a model that may be a checkpoint to convert. */
export function addCheckpointFlags(command: Command, modelHelp: string): Command {
  const withDevice = addDeviceFlags(command, modelHelp)
    .addOption(new Option("--weights <form>", "form of the weights of a checkpoint").choices(["f16", "int8", "int4"]))
    .option("--group-size <n>", "int4: weights that share a scale (32, 64, 128, -1)", parseNumber);
  return addKvFlags(withDevice);
}

/** The SDK's load options for the flags. Flags not given stay absent. */
export function toCheckpointOptions(flags: CheckpointFlags): Omit<LoadOptions, "weights"> & {
  weights?: "f16" | "int8" | "int4";
  groupSize?: GroupSize;
} {
  return {
    ...toDeviceOptions(flags),
    ...toKvOptions(flags),
    ...(flags.weights && { weights: flags.weights }),
    ...(flags.groupSize !== undefined && { groupSize: flags.groupSize }),
  };
}

/** What the flags of {@link addVisionFlags} give. */
export interface VisionFlags extends CheckpointFlags {
  visionDevice?: string;
}

/** Flags about loading a vision-language model. */
export function addVisionFlags(command: Command): Command {
  return addCheckpointFlags(command, "model folder: OpenVINO IR (LLaVA, Janus) or a Janus checkpoint").option(
    "--vision-device <device>",
    "device of the vision encoder, where it is another one",
  );
}

/** The SDK's load options of a vision-language model for the flags. */
export function toVisionLoadOptions(flags: VisionFlags): VLMLoadOptions {
  return {
    ...toCheckpointOptions(flags),
    ...(flags.visionDevice !== undefined && { visionDevice: flags.visionDevice }),
  };
}
