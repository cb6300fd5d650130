import { expect, it } from "vitest";
import { formatDuration, step } from "./step.mjs";

it.each([
  [230, "0.2 s"],
  [9_940, "9.9 s"],
  [41_200, "41 s"],
  [125_000, "2 min 5 s"],
])("%d ms is %s", (milliseconds, expected) => expect(formatDuration(milliseconds)).toBe(expected));

function collector() {
  const stream = { text: "", write: (chunk) => void (stream.text += chunk) };
  return stream;
}

it("prints one line for a step and hands on its result", async () => {
  const stream = collector();
  expect(await step("Working", async () => 7, { stream })).toBe(7);
  expect(stream.text).toMatch(/^Working \.\.\. \d+\.\d s\n$/);
});

it("says that a step failed and rethrows", async () => {
  const stream = collector();
  const failure = new Error("no");
  await expect(step("Working", () => Promise.reject(failure), { stream })).rejects.toBe(failure);
  expect(stream.text).toBe("Working ... failed\n");
});
