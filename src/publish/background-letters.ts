/** Text as licenses are compared by: what no comment mark and no line break changes. */

export interface LetterSequence {
  readonly chars: Uint8Array;
  readonly at: Uint32Array;
  readonly length: number;
}

/** Letters in lower case and digits of `chars[from, to)`, and where they are. */
export function extractLetters(chars: Uint8Array, from: number, to: number): LetterSequence {
  const letters = new Uint8Array(to - from);
  const at = new Uint32Array(to - from);
  let length = 0;
  for (let i = from; i < to; i += 1) {
    const char = chars[i] ?? 0;
    const lower = char >= 0x41 && char <= 0x5a ? char + 32 : char;
    const digit = char >= 0x30 && char <= 0x39;
    if (!digit && !(lower >= 0x61 && lower <= 0x7a)) continue;
    letters[length] = lower;
    at[length] = i;
    length += 1;
  }
  return { chars: letters, at, length };
}
