/** How much the step index moves for the lower three bits of a code. */
const INDEX_STEPS = [-1, -1, -1, -1, 2, 4, 6, 8];

/** The 89 step sizes; each is about a tenth more than the one before. */
const STEPS = [
  7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 19, 21, 23, 25, 28, 31, 34, 37, 41, 45, 50, 55, 60, 66, 73, 80, 88, 97, 107, 118,
  130, 143, 157, 173, 190, 209, 230, 253, 279, 307, 337, 371, 408, 449, 494, 544, 598, 658, 724, 796, 876, 963, 1060,
  1166, 1282, 1411, 1552, 1707, 1878, 2066, 2272, 2499, 2749, 3024, 3327, 3660, 4026, 4428, 4871, 5358, 5894, 6484,
  7132, 7845, 8630, 9493, 10442, 11487, 12635, 13899, 15289, 16818, 18500, 20350, 22385, 24623, 27086, 29794, 32767,
];

/**
 * Decodes one block of IMA ADPCM as WAV files have it (IMA Digital Audio Focus, "Recommended Practices", 1992): for each
 * channel a head of 4 bytes (first sample, step index), then in turn 4 bytes (8 samples) of each channel.
 *
 * `wavefile` decodes one channel only, gives the first sample of each block twice and leaves the last block out.
 *
 * @param bytes - a block; the last one of a file may be shorter
 * @returns the channels; nothing if even the heads are incomplete
 */
export function decodeImaBlock(bytes: Uint8Array, channels: number): Float32Array[] {
  const head = 4 * channels;
  if (bytes.length < head) return [];
  const groups = Math.floor((bytes.length - head) / head);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: channels }, (_, channel) => {
    const samples = new Float32Array(1 + groups * 8);
    let value = view.getInt16(channel * 4, true);
    let index = Math.min(view.getUint8(channel * 4 + 2), 88);
    let at = 0;
    samples[at] = value / 32768;
    for (let group = 0; group < groups; group++) {
      const offset = head + group * head + channel * 4;
      for (let nibble = 0; nibble < 8; nibble++) {
        const byte = view.getUint8(offset + (nibble >> 1));
        const code = nibble % 2 === 0 ? byte & 15 : byte >> 4;
        const step = STEPS[index]!;
        let change = step >> 3;
        if (code & 4) change += step;
        if (code & 2) change += step >> 1;
        if (code & 1) change += step >> 2;
        value = Math.max(-32768, Math.min(32767, code & 8 ? value - change : value + change));
        index = Math.max(0, Math.min(88, index + INDEX_STEPS[code & 7]!));
        at++;
        samples[at] = value / 32768;
      }
    }
    return samples;
  });
}
