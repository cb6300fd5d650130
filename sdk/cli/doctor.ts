import type { Command } from "commander";
import { defaultCacheFolder, inspectModel, listDevices, systemInfo, type ModelInspection } from "../index.js";
import { checkCacheFolder, type Check } from "./cache-check.js";
import { EXIT } from "./exit-codes.js";
import { describeError } from "./report-error.js";
import { formatBytes } from "./table.js";
import type { Terminal } from "./terminal.js";

/** What `pergola doctor --json` prints. */
export interface DoctorReport {
  healthy: boolean;
  checks: Check[];
}

/** Oldest feature set that the CPU kernels are made for. */
const NEEDED_FLAG = "avx2";
/** Below this, even small models do not fit. */
const SMALL_MEMORY = 1e9;

/** `pergola doctor`: finds out why something does not work here. */
export function addDoctorCommand(program: Command, terminal: Terminal): void {
  program
    .command("doctor")
    .description(
      "check the installation, the machine and, with --model, a model's files; exit code 1 if something is broken",
    )
    .option("-m, --model <model>", "model of any kind to check: a folder or a .gguf file")
    .option("--json", "print the findings as JSON")
    .action(async (flags: { model?: string; json?: true }) => {
      const report = await examine(flags.model);
      terminal.output.write(`${flags.json ? JSON.stringify(report, null, 2) : doctorText(report)}\n`);
      if (!report.healthy) process.exitCode = EXIT.error;
    });
}

async function examine(model: string | undefined): Promise<DoctorReport> {
  const checks = [checkNode(), ...checkMachine(), await checkDevices(), await checkCacheFolder(defaultCacheFolder())];
  if (model !== undefined) checks.push(await checkModel(model));
  return { healthy: checks.every(({ status }) => status !== "problem"), checks };
}

function problem(name: string, error: unknown): Check {
  return {
    name,
    status: "problem",
    details: (describeError(error, false).text ?? String(error)).replace(/^error: /, ""),
  };
}

function checkNode(): Check {
  return { name: "Node.js", status: "ok", details: `${process.versions.node} on ${process.platform} ${process.arch}` };
}

function checkMachine(): Check[] {
  try {
    const { runtime, build, cpuModel, cpuFlags, totalMemoryBytes, availableMemoryBytes } = systemInfo();
    const slow = cpuFlags.includes(NEEDED_FLAG) ? "" : ` (no ${NEEDED_FLAG}: inference will be very slow)`;
    const memory = `${formatBytes(availableMemoryBytes)} available of ${formatBytes(totalMemoryBytes)}`;
    return [
      { name: "Runtime", status: "ok", details: `OpenVINO ${runtime}, native core ${build}` },
      {
        name: "CPU",
        status: slow ? "note" : "ok",
        details: `${cpuModel}: ${cpuFlags.join(" ") || "no known features"}${slow}`,
      },
      { name: "Memory", status: availableMemoryBytes < SMALL_MEMORY ? "note" : "ok", details: memory },
    ];
  } catch (error) {
    return [problem("Runtime", error)];
  }
}

async function checkDevices(): Promise<Check> {
  try {
    const devices = await listDevices();
    if (devices.length === 0)
      return { name: "Devices", status: "problem", details: "OpenVINO finds no device, not even CPU" };
    return {
      name: "Devices",
      status: "ok",
      details: devices.map(({ name, fullName }) => `${name} (${fullName})`).join(", "),
    };
  } catch (error) {
    return problem("Devices", error);
  }
}

const FORMATS: Record<ModelInspection["format"], string> = {
  ir: "OpenVINO IR",
  gguf: "GGUF",
  safetensors: "checkpoint to convert (safetensors)",
  ctranslate2: "checkpoint to convert (CTranslate2)",
};

async function checkModel(model: string): Promise<Check> {
  try {
    const found = await inspectModel(model);
    const { format, files, weightBytes, architecture, contextLength, pipelines } = found;
    const count = format === "ir" ? "" : `, ${files.length} file${files.length === 1 ? "" : "s"}`;
    const context = contextLength > 0 ? `, context ${contextLength} tokens` : "";
    const weights = `${formatBytes(weightBytes)} of weights${context}`;
    const kind = `${FORMATS[format]}${count}, ${architecture || "unknown architecture"}, ${weights}`;
    if (pipelines.length === 0)
      return { name: "Model", status: "problem", details: `${kind}: no pipeline has all its parts` };
    return { name: "Model", status: "ok", details: `${kind}; for ${pipelines.join(" and ")}` };
  } catch (error) {
    return problem("Model", error);
  }
}

const SIGN: Record<Check["status"], string> = { ok: "✓", note: "!", problem: "✗" };

/** The findings as text. */
export function doctorText({ checks, healthy }: DoctorReport): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(({ name, status, details }) => {
    const indented = details.replaceAll("\n", `\n${" ".repeat(width + 4)}`);
    return `${SIGN[status]} ${name.padEnd(width)}  ${indented}`;
  });
  return [...lines, "", healthy ? "Everything needed is there." : "Something is broken: see ✗ above."].join("\n");
}
