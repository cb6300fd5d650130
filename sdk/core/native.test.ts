import { describe, expect, it } from "vitest";
import { FakeNative } from "../testing/fake-native.js";
import { NativeError } from "./errors.js";
import type { NativeSearch } from "./native-failure.js";
import { loadNative } from "./native.js";

const LOCAL = "/package/native/bin/pergola.node";

function search(
  changes: Partial<NativeSearch> & { modules?: Record<string, unknown>; files?: string[] } = {},
): NativeSearch {
  const { modules = {}, files = [], ...rest } = changes;
  return {
    packageRoot: "/package",
    override: undefined,
    platform: "linux",
    arch: "x64",
    nodeVersion: "20.19.0",
    musl: false,
    bundled: false,
    require: (id) => {
      const found = modules[id];
      if (found instanceof Error) throw found;
      if (!found) throw new Error(`Cannot find module '${id}'\nRequire stack: ...`);
      return found;
    },
    fileExists: (path) => files.includes(path),
    ...rest,
  };
}

function messageOf(given: NativeSearch): string {
  try {
    loadNative(given);
  } catch (error) {
    expect(error).toBeInstanceOf(NativeError);
    return (error as Error).message;
  }
  throw new Error("it loaded");
}

describe("finding the addon", () => {
  const [override, local, packaged] = [new FakeNative(), new FakeNative(), new FakeNative()];
  const modules = { "/other/my.node": override, [LOCAL]: local, "@pergola/linux-x64/pergola.node": packaged };

  it("takes PERGOLA_NATIVE, then the clone's, then the package's", () => {
    const files = [LOCAL, "/other/my.node"];
    expect(loadNative(search({ modules, files, override: "/other/my.node" }))).toBe(override);
    expect(loadNative(search({ modules, files }))).toBe(local);
    expect(loadNative(search({ modules }))).toBe(packaged);
  });

  it("does not replace a PERGOLA_NATIVE that fails by another", () => {
    const message = messageOf(search({ modules, files: [LOCAL], override: "/other/none.node" }));
    expect(message).toContain("PERGOLA_NATIVE=/other/none.node: no such file");
    expect(message).toContain("Correct PERGOLA_NATIVE");
  });
});

describe("failing", () => {
  it("names package, platform, Node version, each place with its reason, and the remedy", () => {
    const message = messageOf(search());
    expect(message).toContain("linux-x64 with Node.js 20.19.0");
    expect(message).toContain("native/bin/pergola.node: no such file");
    expect(message).toContain("@pergola/linux-x64/pergola.node: Cannot find module");
    expect(message).not.toContain("Require stack");
    expect(message).toContain("npm install @pergola/linux-x64");
  });

  it("tells the build command in a clone", () => {
    const message = messageOf(search({ files: ["/package/native/CMakeLists.txt"] }));
    expect(message).toContain("npm run build");
    expect(message).not.toContain("npm install @pergola");
  });

  it("refuses an addon of another interface version", () => {
    const modules = { [LOCAL]: new FakeNative({ abi: 99 }) };
    expect(messageOf(search({ modules, files: [LOCAL] }))).toMatch(/interface version 99, this SDK needs 4/);
  });

  it.each([
    ["an old Node", { nodeVersion: "18.20.1" }, /Node.js 20.19 or newer; this is 18.20.1/],
    ["musl", { musl: true }, /musl; OpenVINO needs glibc/],
    ["another platform", { platform: "sunos", arch: "ppc64" }, /no build for sunos-ppc64; supported: linux-x64 /],
    [
      "a Mac",
      { platform: "darwin", arch: "arm64" },
      /could not be loaded on darwin-arm64 .*\n.*Run the program on such/s,
    ],
    ["Windows", { platform: "win32", arch: "x64" }, /no build for win32-x64; supported: linux-x64 .*\n.*WSL 2/],
  ])("explains %s", (_, changes, expected) => {
    expect(messageOf(search(changes))).toMatch(expected);
  });

  it.each([
    ["/lib/libc.so.6: version `GLIBC_2.38' not found (required by x)", /older than GLIBC_2.38/],
    [
      "libopenvino.so.2641: cannot open shared object file: No such file",
      /libopenvino.so.2641 is missing beside the addon/,
    ],
  ])("explains %s", (reason, expected) => {
    const error = new Error(reason);
    expect(messageOf(search({ files: [LOCAL], modules: { [LOCAL]: error } }))).toMatch(expected);
  });
});
