import type { Tokenizer } from "../../text/tokenizer.js";

/** A word, and the tokens it is made of. */
export interface WordTokens {
  word: string;
  tokens: number[];
}

/** Languages without spaces between words: every group of tokens that makes whole characters counts as a word. */
const UNSPACED = new Set(["zh", "ja", "th", "lo", "my", "yue"]);

/** ASCII punctuation in the order of character codes; a run of it is what openai/whisper takes for "punctuation" too. */
const PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/** Groups tokens into words as openai/whisper does: by characters, or at spaces and punctuation. */
export function splitWords(ids: readonly number[], tokenizer: Tokenizer, language: string): WordTokens[] {
  const groups = splitCharacters(ids, tokenizer);
  return UNSPACED.has(language) ? groups : joinAtSpaces(groups);
}

/** Groups of tokens that give whole characters. */
function splitCharacters(ids: readonly number[], tokenizer: Tokenizer): WordTokens[] {
  const decoder = tokenizer.decoder({ skipSpecialTokens: false, continuation: true });
  const groups: WordTokens[] = [];
  let group: WordTokens = { word: "", tokens: [] };
  for (const id of ids) {
    group.word += decoder.push([id]);
    group.tokens.push(id);
    if (decoder.unfinished) continue;
    groups.push(group);
    group = { word: "", tokens: [] };
  }
  // A character that the text breaks off in still has its time.
  if (group.tokens.length > 0) groups.push({ ...group, word: group.word + decoder.flush() });
  return groups;
}

function joinAtSpaces(groups: readonly WordTokens[]): WordTokens[] {
  const words: WordTokens[] = [];
  for (const { word, tokens } of groups) {
    const last = words.at(-1);
    const begins = word.startsWith(" ") || PUNCTUATION.includes(word.trim());
    if (last === undefined || begins) words.push({ word, tokens: [...tokens] });
    else {
      last.word += word;
      last.tokens.push(...tokens);
    }
  }
  return words;
}
