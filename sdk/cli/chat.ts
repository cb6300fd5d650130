import type { Command } from "commander";
import { LLMPipeline, type LLMOptions, type Message } from "../index.js";
import { talk } from "./chat-session.js";
import { Interrupted, UsageError } from "./exit-codes.js";
import {
  addGenerationFlags,
  addLoadFlags,
  LANGUAGE_MODEL_HELP,
  toGenerationOptions,
  toLoadOptions,
  type GenerationFlags,
  type LoadFlags,
} from "./flags.js";
import { interruptible, interruptibleLoad } from "./interrupts.js";
import { showActivity, withLoadProgress, write, type Terminal } from "./terminal.js";

interface ChatFlags extends LoadFlags, GenerationFlags {
  prompt?: string;
  system?: string;
  json?: true;
}

/** `pergola chat`: a conversation in the terminal, or one answer. */
export function addChatCommand(program: Command, terminal: Terminal): void {
  const command = program
    .command("chat")
    .description("talk with a language model, or let it answer one prompt")
    .argument("[model]", "like --model; left out where that is given")
    .argument("[prompt]", "like --prompt")
    .option("-p, --prompt <text>", 'answer this and end; "-" reads it from stdin')
    .option("-s, --system <text>", "system prompt")
    .option("--json", "print the result of the one answer as JSON");
  addLoadFlags(command, LANGUAGE_MODEL_HELP, false);
  addGenerationFlags(command).action((first: string | undefined, second: string | undefined, flags: ChatFlags) =>
    run(withWords([first, second], flags, command), terminal),
  );
}

/** `pergola chat MODEL PROMPT`: words stand for the flags that were not given. */
function withWords(given: (string | undefined)[], flags: ChatFlags, command: Command): ChatFlags {
  const words = given.filter((word) => word !== undefined);
  const model = (flags.model as string | undefined) ?? words.shift();
  if (model === undefined) command.error("error: required option '-m, --model <model>' not specified");
  const prompt = flags.prompt ?? words.shift();
  if (words.length > 0)
    throw new UsageError(`There is no use for ${JSON.stringify(words[0])}: model and prompt are given.`);
  return { ...flags, model, ...(prompt !== undefined && { prompt }) };
}

async function run(flags: ChatFlags, terminal: Terminal): Promise<void> {
  const prompt = await findPrompt(flags, terminal.input);
  if (prompt === undefined && flags.json) throw new UsageError("--json needs one prompt: pass --prompt or pipe it in.");
  if (prompt === undefined && !terminal.output.isTTY) {
    throw new UsageError("A conversation needs a terminal; for one answer pass --prompt.");
  }
  const llm = await interruptibleLoad((signal) =>
    withLoadProgress(terminal.errors, (onProgress) =>
      LLMPipeline.load(flags.model, { ...toLoadOptions(flags), onProgress, signal }),
    ),
  );
  const options = toGenerationOptions(flags);
  try {
    if (prompt === undefined) await talk(llm, { system: flags.system, options }, terminal);
    else await answerOnce(llm, messagesOf(prompt, flags.system), options, flags.json === true, terminal);
  } finally {
    await llm.dispose();
  }
}

/** The one prompt to answer; undefined where a person is to talk. */
async function findPrompt(flags: ChatFlags, input: Terminal["input"]): Promise<string | undefined> {
  if (flags.prompt !== undefined && flags.prompt !== "-") return flags.prompt;
  if (flags.prompt === undefined && input.isTTY) return undefined;
  let text = "";
  input.setEncoding("utf8");
  for await (const chunk of input) text += String(chunk);
  if (text.trim() === "") throw new UsageError("There is no prompt: pass --prompt or pipe a text in.");
  return text.replace(/\r?\n$/, "");
}

function messagesOf(prompt: string, system: string | undefined): Message[] {
  const user: Message = { role: "user", content: prompt };
  return system === undefined ? [user] : [{ role: "system", content: system }, user];
}

async function answerOnce(
  llm: LLMPipeline,
  messages: Message[],
  options: LLMOptions,
  json: boolean,
  { output, errors }: Terminal,
): Promise<void> {
  const stream = llm.stream(messages, options);
  let interrupted = false;
  const onFirst = (): void => {
    interrupted = true;
    void stream.stop();
  };
  const result = await interruptible(async () => {
    const activity = showActivity("Thinking", errors);
    try {
      for await (const chunk of stream) {
        activity.end();
        if (!json) await write(output, chunk.text);
      }
    } finally {
      activity.end();
    }
    return stream.result;
  }, onFirst);
  if (json) await write(output, `${JSON.stringify(result, null, 2)}\n`);
  else await write(output, "\n");
  if (interrupted) throw new Interrupted("interrupted while answering");
}
