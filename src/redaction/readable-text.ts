/** Whether a finding stands among text. In binary data, noise looks like anything. */
import type { SecretFinding } from './secret-finding.ts';

/** How far around a finding is looked. */
const aroundBytes = 24;

/**
 * Neither control characters nor broken UTF-8 in and around it. A NUL counts as text: it parts the
 * entries of an environment, and fills UTF-16.
 */
export function isReadableText(
  bytes: Uint8Array,
  { start, end }: Pick<SecretFinding, 'start' | 'end'>,
): boolean {
  const from = Math.max(0, start - aroundBytes);
  const to = Math.min(bytes.length, end + aroundBytes);
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte < 0x20 || byte === 0x7f) {
      if (!isLayout(byte)) return false;
    } else if (byte >= 0x80) {
      const length = sequence(bytes, at, to);
      // A character that the look began within is whole before it.
      if (length === 0 && at >= from + 3) return false;
      at += Math.max(0, length - 1);
    }
  }
  return true;
}

/** NUL, backspace, tab, line feed, vertical tab, form feed, carriage return, escape. */
const isLayout = (byte: number): boolean =>
  byte === 0 || (byte >= 0x08 && byte <= 0x0d) || byte === 0x1b;

/** Bytes of the UTF-8 character at `at`, as far as they are there; 0: there is none. */
function sequence(bytes: Uint8Array, at: number, to: number): number {
  const lead = bytes[at] ?? 0;
  const length = lead >= 0xf5 ? 0 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  for (let next = at + 1; next < at + length && next < to; next += 1) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}
