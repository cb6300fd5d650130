import { createInterface } from "node:readline";

/**
 * Answers requests of bench/lib/child.mjs one after the other: a JSON object a line on stdin, an answer a line on stdout
 * that begins with `@` (libraries may print lines of their own).
 *
 * @param {Record<string, (request: any) => unknown>} commands
 */
export async function serve(commands) {
  for await (const line of createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    const answer = await Promise.resolve()
      .then(() => commands[request.command](request))
      .then((value) => ({ value: value ?? null }))
      .catch((error) => ({ error: `${error?.name}: ${error?.message}` }));
    process.stdout.write(`@${JSON.stringify(answer)}\n`);
  }
  // Some engines keep threads; the parent has closed stdin and wants nothing more.
  process.exit(0);
}
