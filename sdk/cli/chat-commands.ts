import { readFile } from "node:fs/promises";
import { closest, distance } from "fastest-levenshtein";
import type { ChatSession, GenerationOptions, LLMPipeline } from "../index.js";
import { UsageError } from "./exit-codes.js";
import type { Interrupts } from "./interrupts.js";
import type { Terminal } from "./terminal.js";
import { writeWhole } from "../core/write-whole.js";

/** The conversation as commands may change it. */
export interface Conversation {
  readonly llm: LLMPipeline;
  chat: ChatSession;
  readonly options: GenerationOptions;
  readonly terminal: Terminal;
  readonly interrupts: Interrupts;
}

/** What a line means for the conversation: something to answer, nothing more to do, or leaving. */
export type NextStep = { kind: "answer"; text: string } | { kind: "done" } | { kind: "exit" };

interface SlashCommand {
  argument?: string;
  help: string;
  run(conversation: Conversation, argument: string): NextStep | Promise<NextStep>;
}

const DONE: NextStep = { kind: "done" };

function say({ terminal }: Conversation, text: string): NextStep {
  terminal.output.write(`${text}\n`);
  return DONE;
}

function systemPrompt({ chat }: Conversation): string | undefined {
  const [first] = chat.history;
  return first?.role === "system" && typeof first.content === "string" ? first.content : undefined;
}

function restart(conversation: Conversation, system: string | undefined): void {
  conversation.chat = conversation.llm.startChat(system === undefined ? {} : { system });
}

function save({ chat }: Conversation, file: string): Promise<void> {
  return writeWhole(file, `${JSON.stringify(chat, null, 2)}\n`);
}

const COMMANDS = new Map<string, SlashCommand>([
  [
    "undo",
    {
      help: "take the last question and its answer back",
      run: (conversation) => {
        conversation.chat.undo();
        return say(conversation, "Taken back.");
      },
    },
  ],
  [
    "edit",
    {
      argument: "TEXT",
      help: "ask TEXT instead of the last question",
      run: ({ chat }, text) => {
        chat.undo();
        return { kind: "answer", text };
      },
    },
  ],
  [
    "system",
    {
      argument: "TEXT",
      help: "start again with this system prompt",
      run: (conversation, text) => {
        restart(conversation, text);
        return say(conversation, "A new conversation, with this system prompt.");
      },
    },
  ],
  [
    "clear",
    {
      help: "start again",
      run: (conversation) => {
        restart(conversation, systemPrompt(conversation));
        return say(conversation, "A new conversation.");
      },
    },
  ],
  [
    "save",
    {
      argument: "FILE",
      help: "keep the conversation in a file",
      run: async (conversation, file) => {
        await save(conversation, file);
        return say(conversation, `Saved as ${file}.`);
      },
    },
  ],
  [
    "load",
    {
      argument: "FILE",
      help: "bring a saved conversation back",
      run: async (conversation, file) => {
        conversation.chat = conversation.llm.restoreChat(await readFile(file, "utf8"));
        return say(conversation, `Loaded ${conversation.chat.history.length} messages from ${file}.`);
      },
    },
  ],
  ["help", { help: "show these commands", run: (conversation) => say(conversation, helpText()) }],
  ["exit", { help: "leave (also Ctrl-D)", run: () => ({ kind: "exit" }) }],
]);

function helpText(): string {
  const usages = [...COMMANDS].map(([name, { argument }]) => `/${name}${argument ? ` ${argument}` : ""}`);
  const width = Math.max(...usages.map((usage) => usage.length));
  const lines = [...COMMANDS.values()].map(({ help }, index) => `  ${usages[index]!.padEnd(width)}  ${help}`);
  return [...lines, "A line that ends with \\ goes on with the next. // at the start of a message sends a /."].join(
    "\n",
  );
}

function unknown(name: string): UsageError {
  const nearest = closest(name, [...COMMANDS.keys()]);
  const hint = distance(name, nearest) <= 2 ? ` Did you mean /${nearest}?` : "";
  return new UsageError(`There is no command /${name}.${hint} /help shows all.`);
}

/**
 * Does what a line says: `/name argument` is a command, everything else a message (`//` at its start stands for `/`).
 *
 * @throws UsageError for an unknown command or a missing argument; and what the command itself throws
 */
export async function runCommand(conversation: Conversation, line: string): Promise<NextStep> {
  if (!line.startsWith("/")) return { kind: "answer", text: line };
  if (line.startsWith("//")) return { kind: "answer", text: line.slice(1) };
  const [, name = "", argument = ""] = /^\/(\S*)\s*([^]*)$/.exec(line)!;
  const command = COMMANDS.get(name);
  if (!command) throw unknown(name);
  if (command.argument !== undefined && argument === "") {
    throw new UsageError(`/${name} needs ${command.argument}.`);
  }
  return command.run(conversation, argument);
}
