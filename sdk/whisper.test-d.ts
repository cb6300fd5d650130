import { expectTypeOf, test } from "vitest";
import type {
  AudioInput,
  Explanation,
  FinishReason,
  LiveEvent,
  LiveResult,
  PipelineStream,
  Transcript,
  TranscriptSegment,
  WeightsOption,
  WhisperInfo,
  WhisperOptions,
} from "./index.js";
import { WhisperPipeline } from "./index.js";

declare const whisper: WhisperPipeline;
declare const stream: NodeJS.ReadableStream;
declare const chunks: AsyncIterable<Float32Array>;

test("calls and their results", () => {
  expectTypeOf(
    WhisperPipeline.load("model", { weights: "int8" as WeightsOption, device: "CPU" }),
  ).resolves.toEqualTypeOf<WhisperPipeline>();
  expectTypeOf(whisper.transcribe("talk.wav")).resolves.toEqualTypeOf<Transcript>();
  expectTypeOf(whisper.transcribe(stream, { language: null, range: [1] })).resolves.toEqualTypeOf<Transcript>();
  expectTypeOf(whisper.transcribe(new Float32Array(), { sampleRate: 8000 })).resolves.toEqualTypeOf<Transcript>();
  expectTypeOf(whisper.stream("talk.wav")).toEqualTypeOf<PipelineStream<TranscriptSegment, Transcript>>();
  expectTypeOf(whisper.live(chunks, { sampleRate: 16_000 })).toEqualTypeOf<PipelineStream<LiveEvent, LiveResult>>();
  expectTypeOf(whisper.explain({ beamSize: 5 })).toEqualTypeOf<Explanation>();
  expectTypeOf(whisper.info).toEqualTypeOf<WhisperInfo>();
});

test("audio in every form", () => {
  const forms: AudioInput[] = [
    ...["a.wav", new URL("https://host/a.wav"), Buffer.from(""), new Uint8Array(3), new ArrayBuffer(3)],
    ...[new Blob([]), new File([], "a.wav"), new Blob([]).stream(), new Float32Array(3)],
  ];
  for (const form of forms) void whisper.transcribe(form);
});

test("options", () => {
  expectTypeOf<WhisperOptions["timestamps"]>().toEqualTypeOf<false | "segment" | "word" | undefined>();
  expectTypeOf<{ temperature: readonly number[] }>().toExtend<WhisperOptions>();
  expectTypeOf<{ temperature: string }>().not.toExtend<WhisperOptions>();
  expectTypeOf<{ range: [number, number] }>().toExtend<WhisperOptions>();
  // @ts-expect-error a typing error
  void whisper.transcribe("talk.wav", { langauge: "en" });
  // @ts-expect-error live audio has no modes
  whisper.live(chunks, { mode: "batched" });
  // @ts-expect-error a number is no audio
  void whisper.transcribe(5);
  // @ts-expect-error load() makes pipelines
  new WhisperPipeline();
});

test("results tell why they ended as texts do", () => {
  expectTypeOf<Transcript["finishReason"]>().toEqualTypeOf<FinishReason>();
  expectTypeOf<LiveResult["finishReason"]>().toEqualTypeOf<FinishReason>();
});

test("events", () => {
  const event = {} as LiveEvent;
  if (event.type === "final") expectTypeOf(event.segment).toEqualTypeOf<TranscriptSegment>();
  else expectTypeOf(event.stable).toEqualTypeOf<string>();
});
