import { configDefaults, defineConfig } from "vitest/config";

const NATIVE = "sdk/**/*.native.test.ts";
const MODEL = "sdk/**/*.model.test.ts";

/** Tests that load the addon run in processes of their own: a crash must not take the test run with it. */
const ownProcess = { pool: "forks", fileParallelism: true } as const;

/**
 * unit    pure TypeScript with a fake addon; seconds
 * native  the real addon, no model
 * model   tiny fixtures and small real models, exact token ids
 * e2e     the command line, samples, packages and processes as users meet them
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: "unit",
          include: ["sdk/**/*.test.ts", "test/*.test.ts", "scripts/**/*.test.mjs", "eslint/**/*.test.ts"],
          exclude: [...configDefaults.exclude, NATIVE, MODEL],
          // Some compare minutes of sound sample by sample, on a machine that may be busy.
          testTimeout: 30_000,
          typecheck: { enabled: true, include: ["sdk/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...ownProcess,
          name: "native",
          include: [NATIVE],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...ownProcess,
          name: "model",
          include: [MODEL],
          // Inference uses all cores already; two models at once would only make every test slower.
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...ownProcess,
          name: "e2e",
          include: ["test/e2e/**/*.e2e.test.ts"],
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
