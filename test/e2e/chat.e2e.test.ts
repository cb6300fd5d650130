import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sum, translation } from "./support/golden.js";
import { model } from "./support/paths.js";
import type { RunningChild } from "./support/run.js";
import { CTRL_C, CTRL_D, pergolaInTerminal } from "./support/terminal.js";

/** A conversation in a pseudo terminal. */
class Talk {
  readonly child: RunningChild;
  #seen = 0;

  constructor(...args: string[]) {
    this.child = pergolaInTerminal(["chat", "-m", model, "--temperature", "0", ...args]);
  }

  /** Waits for the text, after all that earlier calls have seen. */
  async expect(pattern: RegExp): Promise<void> {
    this.#seen = await this.child.waitFor(pattern, this.#seen);
  }

  /** Waits for the prompt, then sends a line. */
  async say(text: string): Promise<void> {
    await this.expect(/> /);
    this.child.type(`${text}\r`);
  }
}

let folder: string;
beforeEach(async () => (folder = await mkdtemp(path.join(tmpdir(), "pergola-chat-"))));
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a conversation", () => {
  it("answers, and leaves at Ctrl-D with 0", async () => {
    const talk = new Talk();
    await talk.say(translation.prompt);
    await talk.expect(new RegExp(translation.text.replace(".", "\\.")));
    await talk.expect(/> /);
    talk.child.type(CTRL_D);
    expect(await talk.child.outcome).toMatchObject({ code: 0, signal: null });
  });

  it("Ctrl-C stops an answer, a second one leaves", async () => {
    const talk = new Talk();
    await talk.say("Write a long story about a dog.");
    await talk.expect(/about a dog\.\r+\n/);
    await talk.expect(/\w+ \w+ \w+/);
    talk.child.type(CTRL_C);
    await talk.expect(/\(stopped\)/);
    await talk.expect(/> /);
    talk.child.type(CTRL_C);
    expect(await talk.child.outcome).toMatchObject({ code: 0, signal: null });
  });

  it("Ctrl-C right after Enter stops the answer as well", async () => {
    const talk = new Talk();
    await talk.say("Write a long story about a dog.");
    talk.child.type(CTRL_C);
    await talk.expect(/\(stopped\)/);
    await talk.say("/exit");
    expect(await talk.child.outcome).toMatchObject({ code: 0, signal: null });
  });

  it("Ctrl-C at the prompt asks for a second one", async () => {
    const talk = new Talk();
    await talk.expect(/> /);
    talk.child.type(CTRL_C);
    await talk.expect(/Ctrl-C again leaves/);
    await talk.expect(/> /);
    talk.child.type(CTRL_C);
    expect(await talk.child.outcome).toMatchObject({ code: 0, signal: null });
  });

  it("takes back, changes, saves and loads", async () => {
    const file = path.join(folder, "chat.json");
    const talk = new Talk();
    await talk.say("Say something I will take back.");
    await talk.say("/undo");
    await talk.say(translation.prompt);
    await talk.expect(new RegExp(translation.text.replace(".", "\\.")));
    await talk.say(`/save ${file}`);
    await talk.say(`/edit ${sum.prompt}`);
    await talk.expect(/is 4\./);
    await talk.say(`/load ${file}`);
    await talk.say("/exit");
    expect(await talk.child.outcome).toMatchObject({ code: 0 });
    const saved = JSON.stringify(JSON.parse(await readFile(file, "utf8")));
    expect(saved).toContain(translation.prompt);
    expect(saved).toContain(translation.text);
    expect(saved).not.toContain("take back");
  });

  it("goes on after a mistake", async () => {
    const talk = new Talk();
    await talk.say("/lod x");
    await talk.expect(/no command \/lod.*\/load/i);
    await talk.say("/load no-such-file.json");
    await talk.expect(/no-such-file\.json/);
    await talk.say(translation.prompt);
    await talk.expect(new RegExp(translation.text.replace(".", "\\.")));
    await talk.say("/exit");
    expect(await talk.child.outcome).toMatchObject({ code: 0 });
  });
});
