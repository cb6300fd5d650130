import type { Command } from "commander";
import { listDevices } from "../index.js";
import { formatBytes, formatTable } from "./table.js";
import type { Terminal } from "./terminal.js";

/** `pergola devices`: what models can run on here. */
export function addDevicesCommand(program: Command, terminal: Terminal): void {
  program
    .command("devices")
    .description("list the devices of this machine")
    .option("--json", "print the list as JSON")
    .action(async (flags: { json?: true }) => {
      const devices = await listDevices();
      if (flags.json) {
        terminal.output.write(`${JSON.stringify(devices, null, 2)}\n`);
        return;
      }
      const rows = devices.map(({ name, fullName, capabilities, memoryBytes }) => [
        name,
        fullName,
        memoryBytes === undefined ? "" : formatBytes(memoryBytes),
        capabilities.join(" "),
      ]);
      terminal.output.write(`${formatTable([["Device", "Name", "Memory", "Capabilities"], ...rows])}\n`);
    });
}
