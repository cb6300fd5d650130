import { readFileSync } from "node:fs";
import { Command, Option } from "commander";
import { addBenchCommand } from "./bench/bench.js";
import { addCaptionCommand } from "./caption.js";
import { addChatCommand } from "./chat.js";
import { addConvertCommand } from "./convert.js";
import { addDevicesCommand } from "./devices.js";
import { addDoctorCommand } from "./doctor.js";
import { addImagineCommand } from "./imagine.js";
import type { Terminal } from "./terminal.js";
import { addTranscribeCommand } from "./transcribe.js";

/** Version of the package this file belongs to. */
function packageVersion(): string {
  const manifest = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** The command line, without running it. Errors of commander are thrown. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("pergola")
    .description("Chats, captions, transcripts and pictures on OpenVINO, in the terminal")
    .version(packageVersion(), "-v, --version")
    .showHelpAfterError("(add --help for the options)")
    .configureOutput({
      writeOut: (text) => terminal.output.write(text),
      writeErr: (text) => terminal.errors.write(text),
    })
    .exitOverride();
  // What commander calls it, and what older versions of this program did.
  program.addOption(new Option("-V").hideHelp()).on("option:V", () => program.parse(["--version"], { from: "user" }));
  // Commands copy the settings above when they are added.
  addChatCommand(program, terminal);
  addCaptionCommand(program, terminal);
  addTranscribeCommand(program, terminal);
  addImagineCommand(program, terminal);
  addConvertCommand(program, terminal);
  addDevicesCommand(program, terminal);
  addDoctorCommand(program, terminal);
  addBenchCommand(program, terminal);
  return program;
}
