import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PipelineStream, type EndKind, type StreamControl } from "./stream.js";

/** Work in the hands of the test: it ends when told to, and counts what it was asked. */
function handWork() {
  let control!: StreamControl<string>;
  let resolve!: (result: string) => void;
  let reject!: (error: Error) => void;
  const endings: EndKind[] = [];
  const state = { started: 0, nativeEnded: false };
  const work = (given: StreamControl<string>): Promise<string> => {
    state.started++;
    control = given;
    control.onEnding((kind) => endings.push(kind));
    return new Promise((onResolve, onReject) => {
      resolve = (result) => {
        state.nativeEnded = true;
        onResolve(result);
      };
      reject = (error) => {
        state.nativeEnded = true;
        onReject(error);
      };
    });
  };
  return {
    work,
    state,
    endings,
    push: (chunk: string) => control.push(chunk),
    finish: (result = "done") => resolve(result),
    fail: (error: Error) => reject(error),
  };
}

/** Work that ends by itself a little after an end is asked for, as native work does. */
function obedient(chunks: string[]) {
  const state = { ended: false };
  const work = async (control: StreamControl<string>): Promise<string> => {
    for (const chunk of chunks) {
      await new Promise((resolve) => setImmediate(resolve));
      if (control.ending) break;
      control.push(chunk);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
    state.ended = true;
    return control.ending ?? "complete";
  };
  return { work, state };
}

async function readAll<Chunk>(stream: AsyncIterable<Chunk>): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);
beforeEach(() => void process.on("unhandledRejection", note));
afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 5));
  process.off("unhandledRejection", note);
  expect(unhandled.splice(0)).toEqual([]);
});

describe("reading", () => {
  it("starts the work at creation and gives the result without anybody reading", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    expect(hand.state.started).toBe(1);
    hand.push("a");
    hand.finish("ab");
    await expect(stream.result).resolves.toBe("ab");
  });

  it("delivers what came before the reader did, in order", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    hand.push("a");
    hand.push("b");
    hand.finish();
    await stream.result;
    expect(await readAll(stream)).toEqual(["a", "b"]);
  });

  it("keeps order for a slow reader", async () => {
    const chunks = Array.from({ length: 200 }, (_, index) => String(index));
    const stream = PipelineStream.start(obedient(chunks).work);
    const read: string[] = [];
    for await (const chunk of stream) {
      read.push(chunk);
      if (read.length % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(read).toEqual(chunks);
  });

  it("serves parallel next() calls in order, and settles next() after the end", async () => {
    const hand = handWork();
    const iterator = PipelineStream.start(hand.work)[Symbol.asyncIterator]();
    const both = [iterator.next(), iterator.next(), iterator.next()];
    hand.push("a");
    hand.push("b");
    hand.finish();
    expect(await Promise.all(both)).toEqual([
      { done: false, value: "a" },
      { done: false, value: "b" },
      { done: true, value: undefined },
    ]);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("refuses a second iteration with an error that says so", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    stream[Symbol.asyncIterator]();
    expect(() => stream[Symbol.asyncIterator]()).toThrow(/iterated once/);
    hand.finish();
    await stream.result;
  });
});

describe("errors", () => {
  it("gives an error that came between two chunks to the next next() and to result", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    const iterator = stream[Symbol.asyncIterator]();
    hand.push("a");
    expect(await iterator.next()).toEqual({ done: false, value: "a" });
    hand.push("b");
    hand.fail(new Error("broken"));
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await iterator.next()).toEqual({ done: false, value: "b" });
    await expect(iterator.next()).rejects.toThrow("broken");
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    await expect(stream.result).rejects.toThrow("broken");
  });

  it("rejects the reader that waits and ends the others", async () => {
    const hand = handWork();
    const iterator = PipelineStream.start(hand.work)[Symbol.asyncIterator]();
    const first = iterator.next();
    const second = iterator.next();
    hand.fail(new Error("broken"));
    await expect(first).rejects.toThrow("broken");
    expect(await second).toEqual({ done: true, value: undefined });
  });

  it("lets nobody look at a failed stream without an unhandled rejection", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    hand.fail(new Error("broken"));
    await stream.ended;
  });

  it("turns an exception thrown by the work at once into a rejection", async () => {
    const stream = PipelineStream.start(() => {
      throw new Error("at once");
    });
    await expect(stream.result).rejects.toThrow("at once");
  });
});

describe("ending early", () => {
  it("takes break for stop() and waits for native work", async () => {
    const { work, state } = obedient(["a", "b", "c", "d"]);
    const stream = PipelineStream.start(work);
    for await (const chunk of stream) if (chunk === "b") break;
    expect(state.ended).toBe(true);
    expect(await stream.result).toBe("stop");
  });

  it("takes a throw inside the loop for stop() and passes it on", async () => {
    const { work, state } = obedient(["a", "b", "c"]);
    const stream = PipelineStream.start(work);
    await expect(async () => {
      for await (const chunk of stream) throw new Error(`reader ${chunk}`);
    }).rejects.toThrow("reader a");
    expect(state.ended).toBe(true);
  });

  it("allows return() before the first next()", async () => {
    const { work, state } = obedient(["a", "b"]);
    const iterator = PipelineStream.start(work)[Symbol.asyncIterator]();
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(state.ended).toBe(true);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });

  it("stop() keeps unread chunks, cancel() drops them; both wait for the end", async () => {
    const kept = handWork();
    const stopped = PipelineStream.start(kept.work);
    kept.push("a");
    const stopping = stopped.stop();
    expect(kept.endings).toEqual(["stop"]);
    expect(await Promise.race([stopping.then(() => "ended"), Promise.resolve("waits")])).toBe("waits");
    kept.finish("partial");
    await stopping;
    expect(await readAll(stopped)).toEqual(["a"]);

    const dropped = handWork();
    const cancelled = PipelineStream.start(dropped.work);
    dropped.push("a");
    const cancelling = cancelled.cancel();
    dropped.push("late");
    dropped.finish("partial");
    await cancelling;
    expect(await readAll(cancelled)).toEqual([]);
    expect(await cancelled.result).toBe("partial");
  });

  it("lets a stronger end follow a weaker one, and ignores weaker ones", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    const ends = [stream.stop(), stream.stop(), stream.cancel(), stream.stop()];
    expect(hand.endings).toEqual(["stop", "cancel"]);
    hand.finish();
    await Promise.all(ends);
  });

  it("does nothing after the end", async () => {
    const hand = handWork();
    const stream = PipelineStream.start(hand.work);
    hand.finish("whole");
    await stream.result;
    await stream.cancel();
    await stream.stop();
    expect(hand.endings).toEqual([]);
    expect(await stream.result).toBe("whole");
  });

  it("stops at the end of an await using block", async () => {
    const { work, state } = obedient(["a", "b", "c"]);
    {
      await using stream = PipelineStream.start(work);
      expect(stream).toBeDefined();
    }
    expect(state.ended).toBe(true);
  });
});

describe("signal", () => {
  it("never starts when it is already aborted", async () => {
    const hand = handWork();
    const reason = new Error("too late");
    const stream = PipelineStream.start(hand.work, { signal: AbortSignal.abort(reason) });
    await expect(stream.result).rejects.toBe(reason);
    await expect(readAll(stream)).rejects.toBe(reason);
    expect(hand.state.started).toBe(0);
  });

  it("rejects iterator and result with the reason once native work has ended", async () => {
    const hand = handWork();
    const controller = new AbortController();
    const stream = PipelineStream.start(hand.work, { signal: controller.signal });
    const reading = readAll(stream);
    hand.push("a");
    const reason = new Error("enough");
    controller.abort(reason);
    expect(hand.endings).toEqual(["abort"]);
    hand.finish();
    await expect(reading).rejects.toBe(reason);
    await expect(stream.result).rejects.toBe(reason);
  });

  it("drops chunks that nobody had read", async () => {
    const hand = handWork();
    const controller = new AbortController();
    const stream = PipelineStream.start(hand.work, { signal: controller.signal });
    hand.push("a");
    controller.abort();
    hand.finish();
    await expect(readAll(stream)).rejects.toMatchObject({ name: "AbortError" });
  });

  it("does nothing after the end, and leaves no listeners on a signal used 50 times", async () => {
    const controller = new AbortController();
    const add = vi.spyOn(controller.signal, "addEventListener");
    const remove = vi.spyOn(controller.signal, "removeEventListener");
    for (let run = 0; run < 50; run++) {
      const stream = PipelineStream.start(obedient(["a"]).work, { signal: controller.signal });
      expect(await stream.result).toBe("complete");
    }
    expect(add).toHaveBeenCalledTimes(50);
    expect(remove.mock.calls.map(([, listener]) => listener)).toEqual(add.mock.calls.map(([, listener]) => listener));
    controller.abort();
  });
});
