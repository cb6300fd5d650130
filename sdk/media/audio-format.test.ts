import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MediaError } from "../core/errors.js";
import { audioFixture, readAudio, wavFile } from "../testing/audio-fixtures.js";

/** What real encoders made, by name of the fixture. */
const FILES: Record<string, [description: string, advice: string]> = {
  "refused.aac": ["an AAC (ADTS) file", "ffmpeg -i in.aac out.wav"],
  "refused.aiff": ["an AIFF file", "ffmpeg -i in.aiff out.wav"],
  "refused.au": ["a Sun/NeXT audio (AU) file", "ffmpeg -i in.au out.wav"],
  "refused.caf": ["a Core Audio (CAF) file", "ffmpeg -i in.caf out.wav"],
  "refused.m4a": ["an M4A (AAC) file", "ffmpeg -i in.m4a out.wav"],
  "refused.mkv": ["a Matroska file", "ffmpeg -i in.mkv out.wav"],
  "refused.w64": ["a Wave64 file", "ffmpeg -i in.w64 out.wav"],
  "refused.webm": ["a WebM file", "ffmpeg -i in.webm out.wav"],
};

/** Beginnings of files, as their specifications have them. */
const HEADS: [head: string | number[], description: string][] = [
  ["RIFF\x10\0\0\0AVI LIST", "an AVI video"],
  ["RIFF\x10\0\0\0WEBPVP8 ", "a WebP image"],
  ["\0\0\0\x18ftypmp42\0\0\0\0", "an MP4 file"],
  ["\0\0\0\x14ftypqt  \0\0\0\0", "a QuickTime movie"],
  ["\0\0\0\x18ftyp3gp5\0\0\0\0", "a 3GPP file"],
  ["\0\0\0\x18ftypheic\0\0\0\0", "a HEIC image"],
  ["\0\0\0\x18ftypavif\0\0\0\0", "an AVIF image"],
  ["#!AMR\n", "an AMR file"],
  ["wvpk\x20\0\0\0", "a WavPack file"],
  ["FLV\x01\x05", "a Flash video"],
  ["\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c", "a Windows Media (ASF) file"],
  ["\0\0\x01\xba\x44", "an MPEG video"],
  ["MThd\0\0\0\x06\0\x01", "a MIDI file"],
  ["\x89PNG\r\n\x1a\n", "a PNG image"],
  ["\xff\xd8\xff\xe0\0\x10JFIF", "a JPEG image"],
  ["GIF89a", "a GIF image"],
  ["%PDF-1.7", "a PDF document"],
  ["PK\x03\x04\x14\0", "a ZIP archive"],
  ["\x1f\x8b\x08\0", "a gzip archive"],
  ["\x7fELF\x02\x01", "a program"],
  ["GGUF\x03\0\0\0", "a GGUF model"],
  ["\ufeff  <!DOCTYPE html><html>", "an HTML page, not audio (an error page of a server?)"],
  ['<?xml version="1.0"?>', "an XML document"],
  ['{"error":"not found"}', "a JSON document"],
  [
    "version https://git-lfs.github.com/spec/v1\noid sha256:",
    "a Git LFS pointer, not the file itself (run git lfs pull)",
  ],
  ["Hello, this is not audio.\n", "a text file"],
  [[1, 2, 3, 4, 5, 6, 7, 8], "not in a format that is known here"],
  [Array.from({ length: 600 }, () => 0), "not in a format that is known here"],
  [[0xff, 0xfb], "not in a format that is known here"],
];

async function refusal(input: unknown): Promise<string> {
  const reason: unknown = await readAudio(input).catch((error: unknown) => error);
  expect(reason).toBeInstanceOf(MediaError);
  return (reason as Error).message;
}

describe("formats that are not decoded", () => {
  it.each(Object.keys(FILES))("%s", async (name) => {
    const [description, advice] = FILES[name]!;
    const path = fileURLToPath(audioFixture(name));
    expect(await refusal(path)).toBe(
      `Cannot read audio from ${path}: it is ${description}, which is not decoded here. Convert it first: ${advice} ` +
        "(WAV, MP3, FLAC, Ogg Vorbis and Ogg Opus are read).",
    );
  });

  it("all fixtures of this kind are tested", () => {
    const files = readdirSync(audioFixture(".")).filter((name) => /^refused\./.test(name));
    expect(files.sort()).toEqual(Object.keys(FILES));
  });

  it.each(HEADS)("%j: %s", async (head, description) => {
    const text =
      typeof head === "string" ? Buffer.from(head, head.startsWith("\ufeff") ? "utf8" : "latin1") : undefined;
    const message = await refusal(text ?? Uint8Array.from(head as number[]));
    expect(message).toMatch(/^Cannot read audio from the audio buffer: /);
    expect(message).toContain(`it is ${description}`);
    expect(message).toContain("WAV, MP3, FLAC, Ogg Vorbis and Ogg Opus are read");
  });

  it.each([
    ["Speex   1.2", "Speex"],
    ["\x80theora", "Theora (video)"],
    ["unheard of", "unknown"],
  ])("Ogg with %j: its codec is %s", async (packet, codec) => {
    const page = Buffer.concat([Buffer.alloc(28), Buffer.from(packet, "latin1")]);
    page.write("OggS\0\x02", 0, "latin1");
    page.set([1, packet.length], 26);
    expect(await refusal(page)).toContain(
      `its Ogg codec is ${codec}, which is not decoded here (Opus, Vorbis and FLAC are)`,
    );
  });

  it("an empty file", async () => {
    expect(await refusal(new Uint8Array(0))).toBe(
      "Cannot read audio from the audio buffer: it is empty (0 bytes). Pass a file that holds audio.",
    );
  });

  it("the name of a file does not count", async () => {
    const data = Buffer.from(wavFile({ data: Uint8Array.of(0, 64) })).toString("base64");
    expect(await readAudio(`data:audio/mpeg;base64,${data}`)).toEqual(Float32Array.of(0.5));
  });
});
