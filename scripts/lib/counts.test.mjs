import { describe, expect, it } from "vitest";
import { closingLine, countEngine, countVitest, sumCounts } from "./counts.mjs";

const file = (status, ...tests) => ({ status, assertionResults: tests.map((one) => ({ status: one })) });

describe("countVitest", () => {
  it("takes the report's counts", () => {
    const report = {
      numPassedTests: 3,
      numFailedTests: 1,
      testResults: [file("failed", "passed", "failed"), file("passed", "passed", "passed")],
    };
    expect(countVitest(report, 1)).toEqual({ passed: 3, failed: 1 });
  });
  it("counts a file that did not load", () => {
    expect(
      countVitest(
        { numPassedTests: 2, numFailedTests: 0, testResults: [file("failed"), file("passed", "passed", "passed")] },
        1,
      ),
    ).toEqual({
      passed: 2,
      failed: 1,
    });
  });
  it("counts a run that ended badly outside any test", () => {
    expect(countVitest({ numPassedTests: 1, numFailedTests: 0, testResults: [file("passed", "passed")] }, 1)).toEqual({
      passed: 1,
      failed: 1,
    });
    expect(countVitest(undefined, 139)).toEqual({ passed: 0, failed: 1 });
  });
});

describe("countEngine", () => {
  it("reads the closing line", () => {
    expect(countEngine("sampler ok\n12 passed, 0 failed\n", 0)).toEqual({ passed: 12, failed: 0 });
    expect(countEngine("11 passed, 1 failed\n", 1)).toEqual({ passed: 11, failed: 1 });
  });
  it("counts a crash after the last test, and a program that says nothing", () => {
    expect(countEngine("12 passed, 0 failed\n", 134)).toEqual({ passed: 12, failed: 1 });
    expect(countEngine("", 0)).toEqual({ passed: 0, failed: 1 });
  });
});

it("adds up and prints the closing line", () => {
  expect(
    closingLine(
      sumCounts([
        { passed: 12, failed: 0 },
        { passed: 30, failed: 2 },
      ]),
    ),
  ).toBe("42 passed, 2 failed");
});
