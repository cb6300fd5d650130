// npm run fuzz [-- --target NAME --minutes N --seed S]: changed inputs until the time is up; what shows a fault is stored.
import { build } from "esbuild";
import { fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const root = import.meta.dirname;
const HANG_MS = 20_000;
const HEAP_MB = 512;

const { values } = parseArgs({
  options: {
    target: { type: "string", multiple: true },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000_000) },
  },
});

const compiled = path.join(root, "../../node_modules/.cache/pergola-fuzz");
await build({
  entryPoints: ["worker", "targets", "make-seeds"].map((name) => path.join(root, `${name}.ts`)),
  outdir: compiled,
  outExtension: { ".js": ".mjs" },
  ...{ bundle: true, platform: "node", format: "esm", target: "node20", packages: "external", splitting: false },
  // Fixtures are found by the place of the sources.
  plugins: [
    {
      name: "places",
      setup: ({ onLoad }) =>
        onLoad({ filter: /\.ts$/ }, ({ path: file }) => ({
          contents: readFileSync(file, "utf8").replaceAll("import.meta.url", JSON.stringify(`file://${file}`)),
          loader: "ts",
        })),
    },
  ],
  logLevel: "warning",
});
const { makeSeeds } = await import(path.join(compiled, "make-seeds.mjs"));
makeSeeds(path.join(root, "seeds"));
const { TARGETS } = await import(path.join(compiled, "targets.mjs"));

const names = values.target ?? Object.keys(TARGETS);
const unknown = names.find((name) => !(name in TARGETS));
if (unknown) {
  console.error(`There is no target "${unknown}"; there are ${Object.keys(TARGETS).join(", ")}.`);
  process.exit(2);
}
const folder = mkdtempSync(path.join(tmpdir(), "pergola-fuzzing-"));
const share = (Number(values.minutes) * 60_000) / names.length;
let faults = 0;
console.log(`seed ${values.seed}`);
try {
  for (const name of names) faults += await fuzz(name, Number(values.seed), Date.now() + share);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = faults > 0 ? 1 : 0;

/** Runs a target until `end`; a process that hangs or dies is followed by another one behind the input that did it. */
async function fuzz(name, first, end) {
  const seen = new Set();
  let seed = first;
  while (Date.now() < end) seed = await oneProcess(name, seed, end, seen);
  console.log(`${name}: ${seed - first} inputs, ${seen.size} faults`);
  return seen.size;
}

function oneProcess(name, first, end, seen) {
  const inputFile = path.join(folder, "input");
  const child = fork(path.join(compiled, "worker.mjs"), [root, name, String(first), inputFile], {
    execArgv: [`--max-old-space-size=${HEAP_MB}`, "--enable-source-maps"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let errors = "";
  child.stderr.on("data", (data) => (errors = (errors + data).slice(-2000)));
  let seed = first;
  return new Promise((resolve) => {
    let timer;
    const expectSign = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        report(name, readFileSync(inputFile), `no answer within ${HANG_MS / 1000} s`, seen);
        child.kill("SIGKILL");
      }, HANG_MS);
    };
    const enough = setTimeout(() => ((child.ended = true), child.kill("SIGKILL")), Math.max(0, end - Date.now()));
    expectSign();
    child.on("message", ({ seed: done, fault, bytes }) => {
      seed = done;
      expectSign();
      if (fault !== undefined) report(name, Buffer.from(bytes, "base64"), fault, seen);
    });
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      clearTimeout(enough);
      if (!child.ended && signal !== "SIGKILL") {
        report(name, readFileSync(inputFile), `the process ended (${signal ?? code})\n${errors}`, seen);
      }
      // The next process starts behind the input that ended this one: at most one round of signs further.
      resolve(child.ended ? seed : seed + 50);
    });
  });
}

/** One input for each kind of fault is enough. */
function report(name, bytes, fault, seen) {
  const kind = fault
    .split("\n")
    .slice(0, 3)
    .join("\n")
    .replace(/\d+/g, "0")
    .replace(/"[^"]*"/g, '""');
  if (seen.has(kind)) return;
  seen.add(kind);
  const target = path.join(root, "regressions", name);
  mkdirSync(target, { recursive: true });
  const file = path.join(target, createHash("sha256").update(bytes).digest("hex").slice(0, 12));
  writeFileSync(file, bytes);
  console.log(`${name}: ${path.relative(process.cwd(), file)}\n${fault}\n`);
}
