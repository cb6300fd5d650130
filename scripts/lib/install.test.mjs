import { expect, it } from "vitest";
import { installMatchesLock } from "./install.mjs";

const lock = {
  packages: {
    "": { name: "pergola" },
    "node_modules/a": { version: "1.0.0", integrity: "sha512-a" },
    "node_modules/b-darwin": { version: "1.0.0", integrity: "sha512-b", optional: true },
  },
};
const installed = (a) => ({ packages: { "node_modules/a": a } });

it.each([
  ["what the lock says", installed({ version: "1.0.0", integrity: "sha512-a" }), true],
  ["another version", installed({ version: "1.0.1", integrity: "sha512-a" }), false],
  ["other content", installed({ version: "1.0.0", integrity: "sha512-x" }), false],
  ["a package missing", { packages: {} }, false],
  ["nothing installed", undefined, false],
])("with %s", (_, record, expected) => expect(installMatchesLock(lock, record)).toBe(expected));

it("does not take a missing lock file for a match", () =>
  expect(installMatchesLock(undefined, installed({}))).toBe(false));
