import { describe, expect, it } from "vitest";
import {
  findCompiler,
  findVersion,
  missingPrerequisites,
  NEEDED_BYTES,
  prerequisiteMessage,
  versionAtLeast,
} from "./prerequisites.mjs";

const complete = {
  platform: "linux",
  arch: "x64",
  glibc: "2.36",
  node: "20.19.0",
  npm: "11.0.0",
  compiler: "c++",
  cmake: "3.20.0",
  buildTool: "make",
  python: "3.11.2",
  pip: "23.0",
  freeBytes: NEEDED_BYTES,
  packageManager: "apt-get",
};

describe("versionAtLeast", () => {
  it.each([
    ["20.19.0", "20.19", true],
    ["20.18.3", "20.19", false],
    ["22.0.0", "20.19", true],
    ["3.9", "3.20", false],
    ["3.20", "3.20", true],
    ["4", "3.20", true],
  ])("%s against %s: %s", (version, wanted, expected) => expect(versionAtLeast(version, wanted)).toBe(expected));
});

describe("findVersion", () => {
  it("takes the first version of a program's output", () => {
    expect(findVersion("cmake version 3.25.1\n\nCMake suite")).toBe("3.25.1");
    expect(findVersion("pip 23.2 from /somewhere (python 3.11)")).toBe("23.2");
    expect(findVersion(undefined)).toBeUndefined();
  });
});

describe("findCompiler", () => {
  const working = (names) => (name) => (names.includes(name) ? "" : undefined);
  it("takes the first that compiles", () => {
    expect(findCompiler({}, working(["g++", "clang++"]))).toBe("g++");
    expect(findCompiler({}, working([]))).toBeUndefined();
  });
  it("asks only the one in CXX", () => {
    expect(findCompiler({ CXX: "g++-13" }, working(["g++"]))).toBeUndefined();
    expect(findCompiler({ CXX: "g++-13" }, working(["g++-13"]))).toBe("g++-13");
  });
});

describe("prerequisites", () => {
  it("finds nothing missing on a complete machine", () => {
    expect(missingPrerequisites(complete)).toEqual([]);
    expect(prerequisiteMessage(complete)).toBeUndefined();
  });

  it.each([
    [{ node: "20.18.0" }, /Node\.js 20\.19 or newer \(found 20\.18\.0\)/],
    [{ npm: undefined }, /npm \(not found\)/],
    [{ compiler: undefined }, /a C\+\+17 compiler \(no c\+\+, g\+\+ or clang\+\+/],
    [{ compiler: undefined, compilerAsked: "gcc-4" }, /CXX is set to "gcc-4"/],
    [{ cmake: undefined }, /CMake 3\.20 or newer \(not found\)/],
    [{ cmake: "3.13.4" }, /CMake 3\.20 or newer \(found 3\.13\.4\)/],
    [{ buildTool: undefined }, /make or ninja/],
    [{ python: undefined }, /no python3/],
    [{ pip: undefined }, /pip for that Python/],
    [{ freeBytes: 200e6 }, /1\.5 GB of free disk space \(0\.2 GB free\)/],
    [{ platform: "darwin", arch: "arm64" }, /Linux on x64 \(this is darwin on arm64/],
    [{ glibc: undefined }, /glibc 2\.28 or newer \(found another C library/],
    [{ glibc: "2.17" }, /found 2\.17/],
  ])("names what is missing: %j", (change, expected) => {
    const message = prerequisiteMessage({ ...complete, ...change });
    expect(message).toMatch(expected);
    expect(message.match(/^ {2}- /gm)).toHaveLength(1);
  });

  it("lists everything in one message with one command", () => {
    const message = prerequisiteMessage({
      ...complete,
      compiler: undefined,
      cmake: undefined,
      python: undefined,
      pip: undefined,
    });
    expect(message.match(/^ {2}- /gm)).toHaveLength(4);
    expect(message).toMatch(/^ {2}sudo apt-get install -y g\+\+ cmake python3 python3-pip$/m);
  });

  it("speaks the package manager of the machine", () => {
    expect(prerequisiteMessage({ ...complete, compiler: undefined, packageManager: "dnf" })).toMatch(
      /sudo dnf install -y gcc-c\+\+/,
    );
    expect(prerequisiteMessage({ ...complete, compiler: undefined, packageManager: undefined })).not.toMatch(
      /Install with/,
    );
  });
});
