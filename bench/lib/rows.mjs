import { median, pairedRatio } from "./statistics.mjs";

/**
 * One line of the result.
 *
 * @typedef {object} Row
 * @property {string} group Headline it stands under.
 * @property {string} title
 * @property {string} ours Value with unit.
 * @property {string} [theirs] What it is compared with, with unit.
 * @property {number} value What the target is about: mostly a ratio.
 * @property {[number, number]} [range] Smallest and largest value of the rounds.
 * @property {{ atMost: number } | { atLeast: number }} [target] Absent: for information.
 * @property {string} [unit] Of `value`; absent for a ratio.
 */

export const milliseconds = (value) => `${value.toFixed(value < 100 ? 1 : 0)} ms`;
export const megabytes = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;
export const percent = (share) => `${(share * 100).toFixed(0)} %`;
export const tokensPerSecond = (value) => `${value.toFixed(1)} tok/s`;

/** A row that compares samples taken in turn, ours divided by theirs. */
export function ratioRow({ group, title, ours, theirs, target, show = milliseconds }) {
  const { ratio, low, high } = pairedRatio(ours, theirs);
  const row = {
    group,
    title,
    ours: show(median(ours)),
    theirs: show(median(theirs)),
    value: ratio,
    range: [low, high],
  };
  return target ? { ...row, target } : row;
}

/** `true`/`false` against the target; undefined where there is none. */
export function passes({ value, target }) {
  if (!target) return undefined;
  return "atMost" in target ? value <= target.atMost : value >= target.atLeast;
}
