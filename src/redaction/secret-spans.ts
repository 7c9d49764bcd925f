/** Where the secrets of a text are, without replacing them. */
import { openRedactor, type StreamRedactorOptions } from './open-redactor.ts';

export interface SecretSpan {
  /** UTF-16 offsets `[start, end)`. */
  readonly start: number;
  readonly end: number;
}

/** In order, not overlapping. */
export function findSecretSpans(
  open: Omit<StreamRedactorOptions, 'onRedaction'>,
  text: string,
): SecretSpan[] {
  const found: { from: number; to: number }[] = [];
  const stream = openRedactor({
    ...open,
    onRedaction: ({ from, to }) => {
      const last = found.at(-1);
      // What was found in two pieces of one long line is one secret to whoever counts.
      if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
      else found.push({ from, to });
    },
  });
  stream.push(Buffer.from(text));
  stream.end();
  return inUnits(text, found);
}

/** Byte offsets in UTF-8 as offsets in UTF-16. `found` is in order. */
function inUnits(text: string, found: readonly { from: number; to: number }[]): SecretSpan[] {
  let unit = 0;
  let byte = 0;
  const reach = (wanted: number): number => {
    while (byte < wanted && unit < text.length) {
      const point = text.codePointAt(unit) ?? 0;
      byte += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      unit += point < 0x10000 ? 1 : 2;
    }
    return unit;
  };
  return found.map(({ from, to }) => ({ start: reach(from), end: reach(to) }));
}
