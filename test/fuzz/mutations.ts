import { mutate, randomNumbers } from "../../sdk/testing/damage.js";

type Random = (below: number) => number;

/** What has upset readers before: edges of number types, names that JavaScript gives a meaning, odd characters. */
const WORDS = [
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "length", "null", "true", "-1", "0", "1e999", "NaN"],
  ...["2147483647", "2147483648", "4294967295", "9007199254740993", "18446744073709551615", "-0", "1e-320", "0.5"],
  ...[
    "\0",
    "\n",
    "\ud800",
    "\udfff",
    "\u2028",
    "\ufeff",
    "é",
    "😀",
    "İ",
    "ß",
    "‮",
    '"',
    "\\",
    "<",
    "&",
    "{",
    "[",
    "]",
    "}",
  ],
  ...[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "messages",
    "messages[0]",
    "|",
    "tojson",
    "(",
    ")",
    "(?:",
    "+",
    "*",
    "\\p{L}",
    "{2,1}",
  ],
];
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e308, 2 ** 31, 2 ** 53, "", "__proto__", "\0", "\ud800", [], {}, [[]], [null]],
];

/** A change of a file, the same for the same seed. */
export function mutation(seeds: readonly Uint8Array[], seed: number): Uint8Array {
  // Close seeds give close first numbers.
  const random = randomNumbers(Math.imul(seed + 1, 2_654_435_761) | 1);
  for (let skip = 0; skip < 8; skip++) random(2);
  let bytes = seeds[random(seeds.length)]!;
  for (let count = 1 + random(3); count > 0; count--) bytes = change(bytes, seeds, random);
  return bytes;
}

function change(bytes: Uint8Array, seeds: readonly Uint8Array[], random: Random): Uint8Array {
  const isText = bytes[0] === 0x7b || bytes[0] === 0x5b;
  switch (random(isText ? 8 : 5)) {
    case 0:
      return withWord(bytes, random);
    case 1:
      return spliced(bytes, seeds[random(seeds.length)]!, random);
    case 2:
      return repeated(bytes, random);
    case 3:
    case 4:
      return mutate(bytes, random, 400);
    default:
      return changedJson(bytes, random);
  }
}

function withWord(bytes: Uint8Array, random: Random): Uint8Array {
  const at = random(bytes.length + 1);
  const end = Math.min(bytes.length, at + (random(2) === 0 ? 0 : random(12)));
  return Buffer.concat([bytes.subarray(0, at), Buffer.from(WORDS[random(WORDS.length)]!), bytes.subarray(end)]);
}

function spliced(one: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  return Buffer.concat([one.subarray(0, random(one.length + 1)), other.subarray(random(other.length + 1))]);
}

function repeated(bytes: Uint8Array, random: Random): Uint8Array {
  const from = random(bytes.length + 1);
  const part = bytes.subarray(from, from + 1 + random(64));
  const times = 1 + random(random(8) === 0 ? 2000 : 8);
  return Buffer.concat([bytes.subarray(0, from), ...Array.from({ length: times }, () => part), bytes.subarray(from)]);
}

/** Changes a value somewhere in JSON, so that what comes out can still be parsed. */
function changedJson(bytes: Uint8Array, random: Random): Uint8Array {
  let root: unknown;
  try {
    root = JSON.parse(Buffer.from(bytes).toString());
  } catch {
    return withWord(bytes, random);
  }
  const places: [holder: Record<string, unknown>, key: string][] = [];
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const key of Object.keys(value)) {
      places.push([value as Record<string, unknown>, key]);
      visit((value as Record<string, unknown>)[key]);
    }
  };
  visit(root);
  if (places.length === 0) return bytes;
  const [holder, key] = places[random(places.length)]!;
  const [from, name] = places[random(places.length)]!;
  switch (random(5)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1);
      else Reflect.deleteProperty(holder, key);
      break;
    case 1:
      // An own field, also of a name like `__proto__`.
      if (!Array.isArray(holder)) {
        const value = structuredClone(from[name]);
        Object.defineProperty(holder, WORDS[random(12)]!, {
          value,
          enumerable: true,
          writable: true,
          configurable: true,
        });
      }
      break;
    case 2:
      holder[key] = structuredClone(from[name]);
      break;
    case 3:
      holder[key] = WORDS[random(WORDS.length)]!;
      break;
    default:
      holder[key] = VALUES[random(VALUES.length)];
  }
  return Buffer.from(JSON.stringify(root));
}
