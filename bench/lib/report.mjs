import { megabytes, milliseconds, passes, percent, tokensPerSecond } from "./rows.mjs";

/** Columns side by side; all but the first are aligned to the right. */
export function table(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]) : cell.padStart(widths[column])))
      .join("  ")
      .trimEnd();
  return [line(rows[0]), widths.map((width) => "-".repeat(width)).join("  "), ...rows.slice(1).map(line)].join("\n");
}

function number(value, unit) {
  if (unit === undefined) return value.toFixed(2);
  return `${value.toFixed(1)} ${unit}`;
}

function targetText({ target, unit }) {
  if (!target) return "";
  return "atMost" in target ? `≤ ${number(target.atMost, unit)}` : `≥ ${number(target.atLeast, unit)}`;
}

function mark(row) {
  const passed = passes(row);
  return passed === undefined ? "" : passed ? "pass" : "MISS";
}

/** The rows of all groups, each group under its headline. */
export function rowsReport(rows) {
  const groups = Map.groupBy ? Map.groupBy(rows, ({ group }) => group) : groupBy(rows);
  return [...groups]
    .map(([group, members]) => {
      const lines = members.map((row) => [
        row.title,
        row.ours,
        row.theirs ?? "",
        number(row.value, row.unit),
        row.range ? row.range.map((value) => value.toFixed(2)).join("–") : "",
        targetText(row),
        mark(row),
      ]);
      return `${group}\n${table([["", "ours", "theirs", "value", "range", "target", ""], ...lines])}`;
    })
    .join("\n\n");
}

/** `Map.groupBy` came with Node 21. */
function groupBy(rows) {
  const groups = new Map();
  for (const row of rows) groups.set(row.group, [...(groups.get(row.group) ?? []), row]);
  return groups;
}

/** One line a contestant, with everything that was measured of it. */
export function summaryReport(summaries, labelOf) {
  const show = (value, format) => (value === undefined ? "" : format(value));
  const lines = Object.entries(summaries).map(([id, summary]) => [
    `${id.split(":")[0].toUpperCase()}  ${labelOf(id)}`,
    show(summary.laterMs, milliseconds),
    show(summary.shortMs, milliseconds),
    show(summary.longMs, milliseconds),
    show(summary.batchRate, tokensPerSecond),
    show(summary.loadMs, milliseconds),
    show(summary.peakRssBytes, megabytes),
    summary.prompts === undefined ? "" : `${summary.firsts}/${summary.prompts} ${percent(summary.prefix)}`,
  ]);
  const head = ["", "later token", "first, 42", "first, 1000", "8 at once", "load", "peak RSS", "agreement"];
  return table([head, ...lines.sort(([left], [right]) => left.localeCompare(right))]);
}

export function machineReport(machine, floorList) {
  const gigabytes = (bytes) => `${(bytes / 1e9).toFixed(1)} GB`;
  return [
    `CPU          ${machine.cpuModel}, ${machine.cores} cores: ${machine.cpuFlags.join(" ")}`,
    `Memory       ${gigabytes(machine.totalMemoryBytes)}, read at ${gigabytes(machine.bandwidthBytesPerSecond)}/s (measured)`,
    `Load before  ${machine.loadBefore.map((value) => value.toFixed(2)).join(" ")}`,
    `Versions     ${Object.entries(machine.versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}, pergola ${machine.commit}`,
    ...floorList.map(
      ({ title, bytes, ms }) =>
        `Floor        ${milliseconds(ms)} a later token: ${megabytes(bytes)} of weights (${title})`,
    ),
  ].join("\n");
}
