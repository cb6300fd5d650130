/** Lays out rows in columns, two spaces apart. The first row is the heading. Numbers (strings that look like one) go right. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => (isNumber(cell) ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function isNumber(cell: string): boolean {
  return /^-?\d[\d.,]*( [^\s]+)?$/.test(cell);
}

/** Bytes in a form that is easy to read: `98 MB`, `1.5 GB`. */
export function formatBytes(bytes: number): string {
  if (bytes >= 1e9) return `${(bytes / 1e9).toFixed(1)} GB`;
  if (bytes >= 1e6) return `${Math.round(bytes / 1e6)} MB`;
  return `${Math.round(bytes / 1e3)} kB`;
}
