import { OptionError } from "../core/errors.js";

export interface StopStringOptions {
  /** Deliver the stop string too. Defaults to `false`. */
  includeStopString?: boolean;
}

/** What a piece of text brought. */
export interface StopStringResult {
  /** Text that is certain to be before any stop string. */
  text: string;
  /** A stop string is complete; everything after it is dropped. */
  stopped: boolean;
  /** The stop string that was found. */
  stopString?: string;
}

interface State {
  next: Map<number, State>;
  /** State of the longest proper suffix that is the beginning of a stop string. */
  fallback: State;
  /** Characters of the text that could still become a stop string. */
  depth: number;
  /** Longest stop string that ends here. */
  found: string | undefined;
}

/**
 * Finds stop strings in text that comes in pieces, wherever the pieces are cut. Text that may be the beginning of a stop string is
 * held back until that is decided.
 *
 * The stop string that is complete first wins; of several that end at the same character the longest does, so that no part of a
 * stop string is left over. The cost of a character does not depend on the number or length of the stop strings (Aho and Corasick
 * 1975).
 */
export class StopStringMatcher {
  readonly #root: State;
  readonly #include: boolean;
  #state: State;
  #held = "";
  #stopped = false;

  /** @throws OptionError for an empty stop string */
  constructor(stops: readonly string[], options: StopStringOptions = {}) {
    this.#root = this.#state = automaton(stops);
    this.#include = options.includeStopString ?? false;
  }

  /** Whether a stop string was found. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Takes the next piece of text. After a stop string was found nothing comes any more. */
  push(piece: string): StopStringResult {
    if (this.#stopped) return { text: "", stopped: true };
    const text = this.#held + piece;
    for (let index = this.#held.length; index < text.length; index++) {
      const state = (this.#state = step(this.#state, text.charCodeAt(index)));
      if (state.found === undefined) continue;
      this.#stopped = true;
      this.#held = "";
      const end = index + 1;
      const kept = text.slice(0, this.#include ? end : end - state.found.length);
      return { text: kept, stopped: true, stopString: state.found };
    }
    const certain = text.length - this.#state.depth;
    this.#held = text.slice(certain);
    return { text: text.slice(0, certain), stopped: false };
  }

  /** Text that was held back and did not become a stop string. */
  flush(): string {
    const held = this.#held;
    this.#held = "";
    this.#state = this.#root;
    return held;
  }
}

function step(state: State, unit: number): State {
  for (let current = state; ; current = current.fallback) {
    const next = current.next.get(unit);
    if (next) return next;
    if (current.depth === 0) return current;
  }
}

function automaton(stops: readonly string[]): State {
  const root: State = { next: new Map(), fallback: undefined as never, depth: 0, found: undefined };
  root.fallback = root;
  for (const [index, stop] of stops.entries()) {
    if (stop === "") {
      throw new OptionError(`stop[${index}] is empty; a stop string needs at least one character.`, {
        path: `stop[${index}]`,
        expected: "a string that is not empty",
        received: stop,
      });
    }
    let state = root;
    for (let at = 0; at < stop.length; at++) {
      const unit = stop.charCodeAt(at);
      let next = state.next.get(unit);
      if (!next) state.next.set(unit, (next = { next: new Map(), fallback: root, depth: at + 1, found: undefined }));
      state = next;
    }
    state.found = stop;
  }
  // Breadth first: fallbacks lead to states that are less deep and thus already done.
  const queue = [root];
  for (const state of queue) {
    for (const [unit, next] of state.next) {
      if (state !== root) next.fallback = step(state.fallback, unit);
      next.found ??= next.fallback.found;
      queue.push(next);
    }
  }
  return root;
}
