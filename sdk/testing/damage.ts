/** Small generator of random numbers (xorshift), so that a failure can be seen again. */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Changes a few bytes, mostly near the beginning; sometimes cuts off, repeats or inserts. */
export function mutate(original: Uint8Array, random: (below: number) => number, headBytes: number): Uint8Array {
  let bytes = Buffer.from(original);
  for (let count = 1 + random(4); count > 0; count--) {
    const at = random(random(4) === 0 ? bytes.length : Math.min(headBytes, bytes.length));
    switch (random(7)) {
      case 0:
        bytes[at] = random(256);
        break;
      case 1:
        bytes[at] = bytes[at]! ^ (1 << random(8));
        break;
      case 2:
        bytes.fill([0, 0xff, 0x7f, 0x80][random(4)]!, at, Math.min(at + 1 + random(4), bytes.length));
        break;
      case 3:
        bytes = bytes.subarray(0, Math.max(1, at));
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), Buffer.alloc(1 + random(8), random(256)), bytes.subarray(at)]);
        break;
      case 5:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(8))]);
        break;
      default:
        if (at + 4 <= bytes.length) bytes.writeUInt32LE([0, 1, 0xffffffff, 0x7fffffff, 0x80000000][random(5)]!, at);
    }
    if (bytes.length === 0) bytes = Buffer.of(0);
  }
  return bytes;
}
