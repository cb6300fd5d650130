import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { cacheDir } from "./paths.mjs";

const lockFile = path.join(cacheDir, "setup.lock");

function isAlive(processId) {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** A lock without a living owner was left behind by a killed run. */
function isAbandoned() {
  try {
    const owner = Number(readFileSync(lockFile, "utf8"));
    // An empty file is being written just now, or its writer died in that moment.
    return owner > 0 ? !isAlive(owner) : Date.now() - statSync(lockFile).mtimeMs > 5_000;
  } catch (error) {
    if (error.code === "ENOENT") return false;
    throw error;
  }
}

function tryLock() {
  try {
    writeFileSync(lockFile, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
  }
  if (isAbandoned()) rmSync(lockFile, { force: true });
  return false;
}

/** Runs the work while no other script of this clone sets up or builds; waits for one that does. */
export async function withLock(work) {
  mkdirSync(cacheDir, { recursive: true });
  let told = false;
  while (!tryLock()) {
    if (!told) process.stderr.write("Waiting for another build in this clone to end ...\n");
    told = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const release = () => rmSync(lockFile, { force: true });
  process.once("exit", release);
  try {
    return await work();
  } finally {
    process.off("exit", release);
    release();
  }
}
