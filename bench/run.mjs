// Benchmarks against peers, side by side in one run: `npm run bench -- [--quick] [--only NAME]`. docs/performance.md explains.
import { statSync } from "node:fs";
import { loadavg } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { withLock } from "../scripts/lib/lock.mjs";
import { inRoot } from "../scripts/lib/paths.mjs";
import { main, SetupError } from "../scripts/lib/process.mjs";
import { writeAtomic } from "../scripts/lib/stamp.mjs";
import { closeChildren } from "./lib/child.mjs";
import { contestant, Contestants } from "./lib/contestants.mjs";
import { checkpointIsPresent } from "./lib/janus.mjs";
import { irFolder, irIsPresent } from "./lib/peers.mjs";
import { PromptMaker } from "./lib/prompts.mjs";
import { machineReport, rowsReport, summaryReport } from "./lib/report.mjs";
import { passes } from "./lib/rows.mjs";
import { recordingsFolder } from "./lib/whisper.mjs";
import { agreementRows } from "./rows/agreement.mjs";
import { batchRows } from "./rows/batch.mjs";
import { janusRows } from "./rows/janus.mjs";
import { javascriptRows } from "./rows/javascript.mjs";
import { loadRows } from "./rows/load.mjs";
import { memoryRows } from "./rows/memory.mjs";
import { speedRows } from "./rows/speed.mjs";
import { visionRows } from "./rows/vision.mjs";
import { whisperRows } from "./rows/whisper.mjs";
import { setUpBench } from "./setup.mjs";

const both = (rowsOf) => async (context) => {
  const parts = [];
  for (const format of context.formats) parts.push(await rowsOf(context, format));
  return { samples: parts.map(({ samples }) => samples), rows: parts.flatMap(({ rows }) => rows) };
};

/** In this order: what needs fresh processes comes after those that stay open were closed. `kind`: the models it is about. */
const GROUPS = {
  speed: { run: both(speedRows), kind: "llm", fresh: false },
  agreement: { run: both(agreementRows), kind: "llm", fresh: false },
  batch: { run: batchRows, kind: "llm", fresh: false },
  javascript: { run: javascriptRows, kind: "llm", fresh: false },
  load: { run: loadRows, kind: "llm", fresh: true },
  memory: { run: memoryRows, kind: "llm", fresh: true },
  whisper: { run: whisperRows, kind: "whisper", fresh: true },
  vision: { run: visionRows, kind: "vision", fresh: true },
  janus: { run: janusRows, kind: "janus", fresh: true },
};

/** How often things are measured; `--quick` shows that everything works, its figures are rough. */
const FULL = {
  rounds: 7,
  batchRounds: 5,
  loadRounds: 5,
  whisperRounds: 5,
  visionRounds: 25,
  janusRounds: 3,
  tokens: 96,
  visionTokens: 96,
  janusSteps: 64,
  janusConverts: true,
  goldenCount: Infinity,
  requests: 500,
};
const QUICK = {
  rounds: 1,
  batchRounds: 1,
  loadRounds: 1,
  whisperRounds: 1,
  visionRounds: 2,
  janusRounds: 1,
  tokens: 24,
  visionTokens: 24,
  janusSteps: 8,
  /** A folder converted before will do. */
  janusConverts: false,
  goldenCount: 4,
  requests: 100,
};

const USAGE = `Usage: npm run bench -- [--quick] [--only NAME ...] [--format gguf|ir ...] [--rounds N] [--full] [--no-setup]
Names: ${Object.keys(GROUPS).join(", ")}
janus runs only where it is named (20 GB of memory, 15 GB of disk); with --full it makes whole pictures, too.`;

/** Whisper needs recordings that are no part of the repository; Janus needs much of everything, and is run when asked for. */
function defaultGroups() {
  return Object.keys(GROUPS).filter((name) => {
    const { kind } = GROUPS[name];
    return kind === "whisper" ? recordingsFolder() !== undefined : kind !== "janus";
  });
}

function readArguments() {
  const options = {
    quick: { type: "boolean", default: false },
    only: { type: "string", multiple: true, default: defaultGroups() },
    format: { type: "string", multiple: true, default: ["gguf", "ir"] },
    rounds: { type: "string" },
    full: { type: "boolean", default: false },
    "no-setup": { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  };
  try {
    const { values } = parseArgs({ options });
    const names = values.only.flatMap((text) => text.split(","));
    const formats = values.format.flatMap((text) => text.split(","));
    const wrong = [
      ...names.filter((name) => !Object.hasOwn(GROUPS, name)),
      ...formats.filter((format) => !["gguf", "ir"].includes(format)),
    ];
    if (wrong.length > 0) throw new Error(`There is no ${wrong.join(", ")}.`);
    const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
    if (rounds !== undefined && !(Number.isInteger(rounds) && rounds > 0))
      throw new Error("--rounds needs a number from 1.");
    return { ...values, names, formats, rounds };
  } catch (error) {
    throw new SetupError(`${error.message}\n${USAGE}`);
  }
}

const uses = (names, kind) => names.some((name) => GROUPS[name].kind === kind);

function say(text) {
  const width = process.stderr.columns ?? 80;
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text.slice(0, width - 1)}`);
}

async function measure({ quick, names, formats, rounds, full, bandwidth }, contestants) {
  const summaries = {};
  const summary = (id) => (summaries[id] ??= {});
  const context = { contestants, formats, summary, full, bandwidth, ...(quick ? QUICK : FULL) };
  if (rounds !== undefined) {
    for (const name of Object.keys(context)) if (/^rounds$|Rounds$/.test(name)) context[name] = rounds;
  }
  if (uses(names, "llm")) context.prompts = await PromptMaker.create(await contestants.get("gguf:pergola"));
  const rows = [];
  const samples = {};
  const failures = [];
  const ordered = Object.entries(GROUPS).filter(([name]) => names.includes(name));
  for (const [name, { run, fresh }] of ordered) {
    if (fresh) await contestants.closeAll();
    const started = performance.now();
    try {
      const part = await run({ ...context, say: (text) => say(`${name}: ${text}`) });
      rows.push(...part.rows);
      samples[name] = part.samples;
    } catch (error) {
      // What the other groups found in a long run is not to be lost.
      failures.push(`${name}: ${error.message}`);
    }
    say("");
    process.stderr.write(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s\n`);
  }
  return { rows, samples, summaries, failures };
}

await main(async () => {
  const options = readArguments();
  if (options.help) {
    console.log(USAGE);
    return 0;
  }
  const withText = uses(options.names, "llm");
  const withIr = withText && options.formats.includes("ir");
  const withWhisper = uses(options.names, "whisper");
  const withJanus = uses(options.names, "janus");
  if (!withWhisper) console.log("Without Whisper: PERGOLA_TEST_AUDIO names no recordings, or --only leaves it out.\n");
  if (!options["no-setup"]) await withLock(() => setUpBench({ withText, withIr, withWhisper, withJanus }));
  if ((withIr && !irIsPresent()) || (withJanus && !checkpointIsPresent()))
    throw new SetupError("Run this without --no-setup first.");

  // These need the build, which set-up has made.
  const { describeMachine, floors } = await import("./lib/machine.mjs");
  const machine = await describeMachine();
  const irBytes = withIr ? statSync(path.join(irFolder, "openvino_model.bin")).size : 0;
  const floorList = withText ? await floors(machine.bandwidthBytesPerSecond, irBytes) : [];
  console.log(`${machineReport(machine, floorList)}\n`);
  if (machine.loadBefore[0] > 0.5) console.log("Other programs are running; figures of a busy machine say little.\n");

  const contestants = new Contestants();
  const bandwidth = machine.bandwidthBytesPerSecond;
  const result = await measure({ ...options, bandwidth }, contestants).finally(closeChildren);
  const loadAfter = loadavg();
  console.log(`${rowsReport(result.rows)}\n`);
  if (withText) console.log(`${summaryReport(result.summaries, (id) => contestant(id).label)}\n`);
  console.log(`Load after   ${loadAfter.map((value) => value.toFixed(2)).join(" ")}`);

  const date = new Date().toISOString();
  const file = inRoot("bench", "results", `${date.replaceAll(":", "-").slice(0, 19)}.json`);
  writeAtomic(
    file,
    `${JSON.stringify({ date, quick: options.quick, machine, floors: floorList, loadAfter, ...result }, null, 1)}\n`,
  );
  console.log(`Written to ${path.relative(inRoot(), file)}`);
  const missed = result.rows.filter((row) => passes(row) === false);
  for (const failure of result.failures) console.log(`Failed: ${failure}`);
  console.log(
    missed.length === 0 ? "No target of what was measured is missed." : `${missed.length} of the targets missed.`,
  );
  return result.failures.length > 0 ? 1 : 0;
});
