/** Copies what JSON can hold; functions and `undefined` are left out. */
export function jsonCopy<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}
