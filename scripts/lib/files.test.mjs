import { mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { matchesAny, platformManifest, publishedManifest } from "./pack.mjs";
import { CommandError, probe, run } from "./process.mjs";
import { fingerprint, readStamp, sha256, stampMatches, writeAtomic, writeStamp } from "./stamp.mjs";
import { unpackWheel } from "./wheel.mjs";

let folder;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "pergola-scripts-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("stamps", () => {
  it("match only the value that was written", () => {
    const file = path.join(folder, "deep", "stamp.json");
    expect(stampMatches(file, { version: 1 })).toBe(false);
    writeStamp(file, { version: 1 });
    expect(stampMatches(file, { version: 1 })).toBe(true);
    expect(stampMatches(file, { version: 2 })).toBe(false);
    expect(readdirSync(path.dirname(file))).toEqual(["stamp.json"]);
  });
  it("survive a damaged file", () => {
    const file = path.join(folder, "stamp.json");
    writeAtomic(file, '{"version":');
    expect(readStamp(file)).toBeUndefined();
  });
});

it("sha256 is the known hash of a known text", async () => {
  const file = path.join(folder, "abc");
  writeFileSync(file, "abc");
  expect(await sha256(file)).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

it("a fingerprint changes with content, names and removal", () => {
  mkdirSync(path.join(folder, "a"));
  const file = path.join(folder, "a", "one.ts");
  writeFileSync(file, "1");
  const first = fingerprint([folder]);
  expect(fingerprint([folder])).toBe(first);
  utimesSync(file, new Date(), new Date(Date.now() + 5_000));
  const second = fingerprint([folder]);
  expect(second).not.toBe(first);
  rmSync(file);
  expect(fingerprint([folder])).not.toBe(second);
});

describe("run", () => {
  it("collects output", async () => {
    expect(await run(process.execPath, ["-e", "console.log('out'); console.error('err')"])).toMatch(/out\n/);
  });
  it("rejects with the command, its code and its output", async () => {
    const failure = await run(process.execPath, ["-e", "console.log('why'); process.exit(3)"]).catch((error) => error);
    expect(failure).toBeInstanceOf(CommandError);
    expect(failure.message).toMatch(/ended with code 3/);
    expect(failure.output).toBe("why\n");
  });
  it("names a command that is not there", async () => {
    await expect(run("no-such-command-here", [])).rejects.toThrow(/`no-such-command-here` could not be started/);
    expect(probe("no-such-command-here", [])).toBeUndefined();
  });
});

describe("wheels", () => {
  const wheel = () => path.join(folder, "x.whl");
  beforeEach(() =>
    run("python3", [
      "-c",
      "import sys, zipfile\nwith zipfile.ZipFile(sys.argv[1], 'w') as z:\n z.writestr('pkg/libs/a.so.1', 'A'); z.writestr('pkg/other.py', 'x'); z.writestr('../evil.so', 'e')",
      wheel(),
    ]),
  );
  it("unpack only what was asked for", async () => {
    await unpackWheel(wheel(), path.join(folder, "out"), ["pkg/libs/a.so.*"]);
    expect(readdirSync(path.join(folder, "out"), { recursive: true }).sort()).toEqual([
      "pkg",
      "pkg/libs",
      "pkg/libs/a.so.1",
    ]);
  });
  it("fail when something asked for is not in them", async () => {
    await expect(unpackWheel(wheel(), path.join(folder, "out"), ["pkg/libs/b.so"])).rejects.toMatchObject({
      output: expect.stringContaining("not in the wheel: pkg/libs/b.so"),
    });
  });
  it("never write outside the target", async () => {
    await expect(unpackWheel(wheel(), path.join(folder, "out"), ["*.so"])).rejects.toMatchObject({
      output: expect.stringContaining("unsafe name"),
    });
  });
});

describe("packages", () => {
  const sdk = {
    name: "pergola",
    version: "1.2.3",
    license: "Apache-2.0",
    engines: { node: ">=20.19" },
    scripts: { test: "x" },
    devDependencies: { x: "1" },
    dependencies: { zod: "4" },
  };
  it("the published SDK names the platform package in its own version and drops what only the clone needs", () => {
    expect(publishedManifest(sdk)).toEqual({
      ...{
        name: "pergola",
        version: "1.2.3",
        license: "Apache-2.0",
        engines: { node: ">=20.19" },
        dependencies: { zod: "4" },
      },
      optionalDependencies: { "@pergola/linux-x64": "1.2.3" },
    });
  });
  it("the platform package runs nothing on install and is limited to its platform", () => {
    const manifest = platformManifest(sdk);
    expect(manifest).toMatchObject({ version: "1.2.3", os: ["linux"], cpu: ["x64"], libc: ["glibc"] });
    expect(manifest).not.toHaveProperty("scripts");
  });
  it("library patterns match whole names", () => {
    expect(matchesAny("libtbb.so.12", ["libtbb.so.*"])).toBe(true);
    expect(matchesAny("libtbbXso.12", ["libtbb.so.*"])).toBe(false);
    expect(matchesAny("libopenvino_onnx_frontend.so.2641", ["libopenvino.so.*"])).toBe(false);
  });
});
