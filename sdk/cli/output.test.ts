import { describe, expect, it } from "vitest";
import { benchPrompt } from "./bench/bench.js";
import { benchReport, floorMs, median, summarize, type BenchRun } from "./bench/bench-report.js";
import { doctorText } from "./doctor.js";
import { formatBytes, formatTable } from "./table.js";
import { progressBar } from "./terminal.js";

describe("tables", () => {
  it("align text left and numbers right", () => {
    expect(
      formatTable([
        ["Name", "Size"],
        ["a", "5 MB"],
        ["longer", "12 MB"],
      ]),
    ).toBe("Name    Size\na        5 MB\nlonger  12 MB");
  });
  it.each([
    [98_362_432, "98 MB"],
    [1_500_000_000, "1.5 GB"],
    [4_096, "4 kB"],
  ])("%d bytes are %s", (bytes, expected) => expect(formatBytes(bytes)).toBe(expected));
});

it.each([
  [0, "░".repeat(24) + "  0 %"],
  [0.5, "█".repeat(12) + "░".repeat(12) + " 50 %"],
  [1, "█".repeat(24) + "100 %"],
])("a bar at %d", (fraction, expected) => expect(progressBar(fraction)).toBe(expected));

describe("bench", () => {
  const run = (tpotMs: number): BenchRun => ({
    ...{
      promptTokens: 42,
      completionTokens: 64,
      ttftMs: 200,
      tpotMs,
      tokensPerSecond: 1000 / tpotMs,
      durationMs: 2000,
    },
  });

  it("takes medians", () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(summarize([run(30), run(10), run(20)]).tpotMs).toBe(20);
  });

  it("derives the floor from bytes and bandwidth", () => {
    // 98 MB at 16 GB/s.
    expect(floorMs({ weightBytes: 98e6, bandwidthBytesPerSecond: 16e9 })).toBeCloseTo(6.125);
  });

  it("prints each run, the median and the floor", () => {
    const text = benchReport({
      ...{ model: "m.gguf", device: "CPU", concurrency: 1, loadMs: 812.3, weightBytes: 98e6 },
      ...{ bandwidthBytesPerSecond: 16e9, peakRssBytes: 400e6, runs: [run(30), run(32)], summary: run(31) },
    });
    expect(text).toMatch(/^ *1 .* 30\.0 ms .*\n *2 .* 32\.0 ms .*\nmedian .* 31\.0 ms /m);
    expect(text).toMatch(/Floor +6\.1 ms a token: 98 MB of weights read at 16\.0 GB\/s/);
  });

  it("makes prompts of the wanted length that differ from the first word on", () => {
    const count = (text: string): number => text.split(" ").length + 1;
    const prompts = Array.from({ length: 8 }, (_, variant) => benchPrompt(count, 100, variant));
    for (const prompt of prompts) expect(count(prompt)).toBe(100);
    expect(new Set(prompts.map((prompt) => prompt.split(" ")[0])).size).toBe(8);
  });
});

it("the doctor's text shows every finding and the verdict", () => {
  const text = doctorText({
    healthy: false,
    checks: [
      { name: "Runtime", status: "ok", details: "OpenVINO 1" },
      { name: "Model", status: "problem", details: "missing\nand more" },
    ],
  });
  expect(text).toBe(
    "✓ Runtime  OpenVINO 1\n✗ Model    missing\n           and more\n\nSomething is broken: see ✗ above.",
  );
});
