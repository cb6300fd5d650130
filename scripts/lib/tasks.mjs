import { checkPrerequisites } from "./prerequisites.mjs";
import { dependenciesAreInstalled, installDependencies } from "./install.mjs";
import { buildAddon, addonIsConfigured } from "./cmake.mjs";
import { buildTypeScript, typeScriptIsBuilt } from "./typescript.mjs";
import { fetchModel, MODELS, modelIsPresent } from "./models.mjs";
import { fetchRuntime, runtimeIsPresent, RUNTIME_WHEEL } from "./runtime.mjs";
import { step } from "./step.mjs";

/**
 * Installs what building needs: npm packages and the OpenVINO runtime. Costs a few milliseconds when nothing is to do.
 * Prerequisites are checked only if there is something to do, because asking pip and the compiler takes a second.
 */
export async function setUp({ variant = "release" } = {}) {
  const steps = [];
  if (!dependenciesAreInstalled()) steps.push(["Installing npm packages", installDependencies]);
  if (!runtimeIsPresent()) steps.push([`Fetching the OpenVINO ${RUNTIME_WHEEL.version} runtime (59 MB)`, fetchRuntime]);
  if (steps.length === 0 && addonIsConfigured(variant)) return;
  await step("Checking prerequisites", checkPrerequisites);
  for (const [title, work] of steps) await step(title, work);
}

/** Set-up, addon, TypeScript. `withTypeScript: false` builds the native part alone. */
export async function build({ variant = "release", withTypeScript = true } = {}) {
  await setUp({ variant });
  await step(`Building the native addon (${variant})`, () => buildAddon(variant));
  if (withTypeScript && !typeScriptIsBuilt()) await step("Compiling TypeScript", buildTypeScript);
}

/** Downloads the models of the table that are not there yet. */
export async function fetchModels(names = Object.keys(MODELS)) {
  for (const name of names) {
    if (!(await modelIsPresent(name))) await step(`Fetching ${MODELS[name].title}`, () => fetchModel(name));
  }
}
