import { z } from "zod";
import { isAbortSignal } from "./abort.js";

// Descriptions end up in messages: "temperature must be <description>, received …".

/** A whole number in a range. */
export function wholeNumber(from: number, to = Number.MAX_SAFE_INTEGER, hint = ""): z.ZodType<number> {
  const range = to === Number.MAX_SAFE_INTEGER ? `of at least ${from}` : `from ${from} to ${to}`;
  return z.number().int().min(from).max(to).describe(`a whole number ${range}${hint}`);
}

/** A finite number in a range, both ends included. */
export function numberIn(from: number, to: number): z.ZodType<number> {
  return z.number().min(from).max(to).describe(`a number from ${from} to ${to}`);
}

export const flag: z.ZodType<boolean> = z.boolean().describe("true or false");

export const signal: z.ZodType<AbortSignal> = z.custom<AbortSignal>(isAbortSignal).describe("an AbortSignal");

/** A function; its type is the caller's to state. */
export function callback<Type extends (...values: never[]) => unknown>(): z.ZodType<Type> {
  return z.custom<Type>((value) => typeof value === "function").describe("a function");
}
