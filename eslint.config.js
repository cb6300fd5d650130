import javascript from "@eslint/js";
import importX from "eslint-plugin-import-x";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";
import { ZONES } from "./eslint/layers.js";
import { noCircles } from "./eslint/no-circles.js";
import { relativeResolver } from "./eslint/resolver.js";

const ADDON_MESSAGE = "Only sdk/core/native.ts loads the native addon.";

export default defineConfig(
  globalIgnores(["dist/", "docs/api/", "models/", "native/", "test/fixtures/", ".cache/", "coverage/"]),
  javascript.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [typescript.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers in messages are meant; objects are not.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      // Does not see what closures and other threads change.
      "@typescript-eslint/no-unnecessary-condition": "off",
      // Enums of numbers from file formats are compared with numbers from files.
      "@typescript-eslint/no-unsafe-enum-comparison": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // Unique index checks are done by `noUncheckedIndexedAccess`; an assertion says "known to be there".
      "@typescript-eslint/no-non-null-assertion": "off",
      // Interfaces and overrides ask for promises where nothing is awaited.
      "@typescript-eslint/require-await": "off",
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: "error",
      "no-console": "error",
    },
  },
  {
    files: ["sdk/**/*.ts"],
    plugins: { "import-x": importX, pergola: { rules: { "no-circles": noCircles } } },
    settings: { "import-x/resolver-next": [relativeResolver] },
    rules: {
      "import-x/no-restricted-paths": ["error", { basePath: import.meta.dirname, zones: ZONES }],
      "pergola/no-circles": "error",
    },
  },
  {
    files: ["sdk/**/*.ts"],
    ignores: ["sdk/core/native.ts", "**/*.test.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        { selector: "Literal[value=/\\.node$/]", message: ADDON_MESSAGE },
        { selector: "TemplateElement[value.raw=/\\.node$/]", message: ADDON_MESSAGE },
      ],
      "no-restricted-properties": ["error", { object: "process", property: "dlopen", message: ADDON_MESSAGE }],
    },
  },
  {
    files: ["sdk/**/*.ts"],
    ignores: ["sdk/testing/**", "**/*.test.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        { patterns: [{ group: ["**/testing/**"], message: "sdk/testing is for tests." }] },
      ],
    },
  },
  {
    files: ["**/*.test.ts", "**/*.test-d.ts", "test/**/*.ts"],
    rules: {
      // Tests hand wrong values over on purpose.
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-floating-promises": "error",
      "@typescript-eslint/unbound-method": "off",
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
    },
  },
  {
    files: ["samples/**/*.ts", "bench/**", "scripts/**"],
    rules: { "no-console": "off" },
  },
  {
    files: ["**/*.mjs", "**/*.js"],
    languageOptions: {
      globals: Object.fromEntries(
        ["process", "console", "performance", "setTimeout", "clearTimeout", "Buffer", "URL", "AbortController"].map(
          (name) => [name, "readonly"],
        ),
      ),
    },
  },
);
