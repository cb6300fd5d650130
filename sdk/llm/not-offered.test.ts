import { expect, it } from "vitest";
import { useFakeLLMs } from "../testing/llm-harness.js";

const loadFakeLLM = useFakeLLMs();

// What is not there yet must be refused, not accepted and ignored (bug reports D1, D2, E5, E6).
it.each(["responseFormat", "jsonSchema", "grammar", "draft"])("the call option %s is refused by name", async (name) => {
  const { llm } = await loadFakeLLM();
  await expect(llm.generate("Hi", { [name]: {} })).rejects.toMatchObject({
    ...{ code: "option", path: name },
    // A wrong value of an option that there is would be told otherwise.
    message: expect.stringContaining(`Unknown option "${name}".`) as string,
  });
});

it("the load option draft is refused by name", async () => {
  const options = { draft: { model: "small" } } as object;
  await expect(loadFakeLLM(undefined, options)).rejects.toMatchObject({
    ...{ code: "option", path: "draft" },
    message: expect.stringContaining('Unknown option "draft".') as string,
  });
});
