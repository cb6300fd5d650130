import type { GenerationOptions, LLMPipeline } from "../index.js";
import { runCommand, type Conversation } from "./chat-commands.js";
import { describeError } from "./report-error.js";
import { LineReader } from "./line-reader.js";
import { Interrupts } from "./interrupts.js";
import { showActivity, type Terminal } from "./terminal.js";

/** What a conversation starts with. */
export interface TalkOptions {
  system: string | undefined;
  options: GenerationOptions;
}

const PROMPT = "> ";

/** Talks until the user leaves: `/exit`, Ctrl-D, or Ctrl-C twice. */
export async function talk(llm: LLMPipeline, { system, options }: TalkOptions, terminal: Terminal): Promise<void> {
  const chat = llm.startChat(system === undefined ? {} : { system });
  const interrupts = new Interrupts();
  terminal.output.write("Type a message, or /help. Ctrl-C stops an answer, a second one leaves.\n");
  try {
    await talkUntilLeft({ llm, chat, options, terminal, interrupts });
  } finally {
    interrupts.close();
  }
  terminal.output.write("\n");
}

async function talkUntilLeft(conversation: Conversation): Promise<void> {
  const { terminal, interrupts } = conversation;
  const lines = new LineReader(terminal);
  let leavesOnInterrupt = false;
  for (;;) {
    interrupts.reset();
    const input = await lines.read(PROMPT);
    if (input.kind === "end") return;
    if (input.kind === "interrupt") {
      if (leavesOnInterrupt) return;
      leavesOnInterrupt = true;
      terminal.output.write("(Ctrl-C again leaves)\n");
      continue;
    }
    leavesOnInterrupt = false;
    const text = input.text.trim();
    if (text === "") continue;
    const next = await guarded(terminal, () => runCommand(conversation, text));
    if (next?.kind === "exit") return;
    if (next?.kind === "answer") {
      leavesOnInterrupt = (await guarded(terminal, () => answer(conversation, next.text))) ?? false;
    }
  }
}

/** Says what went wrong and lets the conversation go on. */
async function guarded<Value>(terminal: Terminal, work: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await work();
  } catch (error) {
    terminal.errors.write(`${describeError(error).text ?? "interrupted"}\n`);
    return undefined;
  }
}

/** Prints an answer as it comes. Resolves with whether Ctrl-C stopped it. */
async function answer({ chat, options, terminal, interrupts }: Conversation, text: string): Promise<boolean> {
  const stream = chat.send(text, options);
  let stopped = false;
  const onFirst = (): void => {
    stopped = true;
    void stream.stop();
  };
  await interrupts.during(async () => {
    const activity = showActivity("Thinking", terminal.errors);
    try {
      for await (const chunk of stream) {
        activity.end();
        terminal.output.write(chunk.text);
      }
    } finally {
      activity.end();
    }
    const { finishReason } = await stream.result;
    const note = stopped
      ? " (stopped)"
      : finishReason === "length"
        ? " (cut off: --max-new-tokens or the context)"
        : "";
    terminal.output.write(`${note}\n`);
  }, onFirst);
  return stopped;
}
