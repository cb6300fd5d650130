import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ENGINE = fileURLToPath(new URL("../native/src/engine", import.meta.url));

/** Rooms of the native engine, each with those it may include beside itself (docs/architecture.md, "Rooms of the engine"). */
const ROOMS: Record<string, string[]> = {
  base: [],
  image: ["base"],
  runtime: ["base"],
  gguf: ["base", "runtime"],
  rewrite: ["base"],
  models: ["base", "runtime", "gguf", "rewrite"],
  kv: ["base", "runtime", "models"],
  generate: ["base", "runtime", "models", "kv"],
  speech: ["base", "runtime", "models", "generate"],
};

/** `room/file` of everything in the engine, with what it includes of the engine. */
const includes = new Map(
  readdirSync(ENGINE, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.[ch]pp$/.test(file))
    .map((file) => {
      const source = readFileSync(path.join(ENGINE, file), "utf8");
      return [file, Array.from(source.matchAll(/^#include "(.+)"/gm), ([, included]) => included!)] as const;
    }),
);

const roomOf = (file: string): string => file.split("/")[0]!;

describe("rooms of the native engine", () => {
  it("are those of the table, whose arrows point one way", () => {
    expect([...new Set(Array.from(includes.keys(), roomOf))].sort()).toEqual(Object.keys(ROOMS).sort());
    const above = Object.keys(ROOMS);
    for (const [room, allowed] of Object.entries(ROOMS))
      for (const other of allowed) expect(above.indexOf(other), `${room} → ${other}`).toBeLessThan(above.indexOf(room));
  });

  it("include only what the table lists, each file by its room", () => {
    const wrong = [...includes].flatMap(([file, included]) =>
      included
        .filter((other) => {
          const isKnown = includes.has(other);
          return !isKnown || (roomOf(other) !== roomOf(file) && !ROOMS[roomOf(file)]!.includes(roomOf(other)));
        })
        .map((other) => `${file} includes ${other}`),
    );
    expect(wrong).toEqual([]);
  });

  it("have no circle of headers", () => {
    const done = new Set<string>();
    const visit = (file: string, trail: string[]): void => {
      if (trail.includes(file)) throw new Error(`circle: ${[...trail.slice(trail.indexOf(file)), file].join(" → ")}`);
      if (done.has(file)) return;
      for (const other of includes.get(file) ?? []) visit(other, [...trail, file]);
      done.add(file);
    };
    for (const file of includes.keys()) visit(file, []);
    expect(done.size).toBeGreaterThan(50);
  });
});
