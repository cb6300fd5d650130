import { decodeWindows, type DecodeContext, type WindowPrompt, type WindowText } from "./decode-windows.js";

/** A text goes on at most this often; what is missing then is heard again. */
const MOST_TIMES = 4;

/**
 * Lets texts go on that ended although somebody still speaks in their window: the decoder is shown what it wrote, and may not end there.
 * Cheaper than hearing the rest again, which takes a run of the encoder. A continuation that does not pass the thresholds at the first
 * temperature is dropped.
 *
 * @param isUnfinished - whether a window's text leaves speech out
 */
export async function continueTexts(
  context: DecodeContext,
  prompts: readonly WindowPrompt[],
  texts: readonly WindowText[],
  isUnfinished: (index: number, text: WindowText) => boolean,
): Promise<WindowText[]> {
  const results = [...texts];
  const { call, engine } = context;
  const firstTry = { ...call, settings: { ...call.settings, temperature: call.settings.temperature.slice(0, 1) } };
  let open = results.flatMap((text, index) => (isUnfinished(index, text) ? [index] : []));
  for (let round = 0; round < MOST_TIMES && open.length > 0 && !engine.ending; round++) {
    const longer = open.map((index): WindowPrompt => {
      const { prefix = [], ...prompt } = prompts[index]!;
      const { ids } = results[index]!;
      return { ...prompt, ids: [...prompt.ids, ...ids.slice(prefix.length)], prefix: ids, unfinished: true };
    });
    const fitting = longer.filter(({ ids }) => ids.length < context.model.facts.maxPositions - 1);
    const more = await decodeWindows({ ...context, call: firstTry }, fitting, true);
    const accepted: number[] = [];
    for (const [at, prompt] of fitting.entries()) {
      const index = open[longer.indexOf(prompt)]!;
      const before = results[index]!;
      const text = more[at]!;
      if (text.stopped || !text.passed || text.text.length <= before.text.length) continue;
      const share = before.ids.length / text.ids.length;
      const avgLogprob = share * before.avgLogprob + (1 - share) * text.avgLogprob;
      results[index] = { ...text, avgLogprob, silent: false, noSpeechProb: before.noSpeechProb };
      accepted.push(index);
    }
    open = accepted.filter((index) => isUnfinished(index, results[index]!));
  }
  return results;
}
