import { PassThrough } from "node:stream";

/** Stands in for the terminal of a command: what is written can be looked at. Nothing in it is a TTY. */
export interface CollectingTerminal {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  errors: NodeJS.WriteStream;
  printed(): string;
  reported(): string;
}

/** A terminal without a person. */
export function collectingTerminal(): CollectingTerminal {
  const collect = (): { stream: NodeJS.WriteStream; text: () => string } => {
    let text = "";
    const stream = new PassThrough().setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    return { stream: stream as unknown as NodeJS.WriteStream, text: () => text };
  };
  const [output, errors] = [collect(), collect()];
  const input = new PassThrough() as unknown as NodeJS.ReadStream;
  return { input, output: output.stream, errors: errors.stream, printed: output.text, reported: errors.text };
}
