import { describe, expect, it } from "vitest";
import { LoadProgressReporter, type LoadProgress } from "./progress.js";

describe("LoadProgressReporter", () => {
  it("never goes back, whatever the order of stages and fractions", () => {
    const reports: LoadProgress[] = [];
    const reporter = new LoadProgressReporter((progress) => void reports.push(progress));
    reporter.report("files", 1, "x");
    reporter.report("compile", 0.5);
    reporter.report("read", 0.2);
    reporter.report("compile", 7);
    reporter.report("compile", -1);
    reporter.report("ready", 1);
    const fractions = reports.map(({ fraction }) => fraction);
    expect(fractions).toEqual([...fractions].sort((a, b) => a - b));
    expect(reports[0]).toEqual({ stage: "files", fraction: 0.02, file: "x" });
    expect(reports[1]).not.toHaveProperty("file");
    expect(fractions[3]).toBeLessThan(1);
    expect(fractions.at(-1)).toBe(1);
  });

  it("keeps the first thing a listener throws", () => {
    const reporter = new LoadProgressReporter(() => {
      throw new Error("listener");
    });
    reporter.assertListenerSound();
    reporter.report("files", 0);
    expect(() => reporter.assertListenerSound()).toThrow("listener");
  });

  it("ends a conversion with what the listener throws", () => {
    const reports: LoadProgress[] = [];
    const reporter = new LoadProgressReporter((progress) => {
      reports.push(progress);
      if (reports.length === 2) throw new Error("enough");
    });
    reporter.reportConversion(0.1);
    expect(() => reporter.reportConversion(0.5)).toThrow("enough");
    expect(reports.map(({ stage }) => stage)).toEqual(["convert", "convert"]);
  });

  it("works without a listener", () => {
    const reporter = new LoadProgressReporter();
    reporter.report("ready", 1);
    reporter.assertListenerSound();
  });
});
