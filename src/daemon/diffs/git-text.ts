/** Names and modes as git writes them in a diff. Bytes are latin1 text: one character per byte. */
import { isUtf8 } from 'node:buffer';
import type { BytePath, Entry } from '../../change.ts';

const escapes: ReadonlyMap<number, string> = new Map([
  [7, '\\a'],
  [8, '\\b'],
  [9, '\\t'],
  [10, '\\n'],
  [11, '\\v'],
  [12, '\\f'],
  [13, '\\r'],
  [34, '\\"'],
  [92, '\\\\'],
]);
/** Of a file's mode, git stores only whether the owner may execute it. */
const ownerRuns = 0o100;

/**
 * A name as git writes it with `core.quotePath` off: unchanged, or quoted and escaped if it has
 * control characters, a quote or a backslash, or is not valid UTF-8.
 */
export function gitName(name: BytePath): string {
  const bytes = Buffer.from(name, 'latin1');
  const isText = isUtf8(bytes);
  let quoted = false;
  let out = '';
  for (const byte of bytes) {
    const plain = byte >= 32 && byte !== 34 && byte !== 92 && byte !== 127;
    if (plain && (byte < 128 || isText)) {
      out += String.fromCharCode(byte);
      continue;
    }
    quoted = true;
    out += escapes.get(byte) ?? `\\${byte.toString(8).padStart(3, '0')}`;
  }
  return quoted ? `"${out}"` : out;
}

/** A name after `---` and `+++`: a tab ends a name that contains spaces. */
export function gitFileLine(prefix: 'a/' | 'b/', path: BytePath): string {
  const name = gitName(`${prefix}${path}`);
  return name.includes(' ') && !name.startsWith('"') ? `${name}\t` : name;
}

/** `100644`, `100755` or `120000`; `null` for types that git does not store. */
export function gitMode(entry: Entry | null): string | null {
  if (entry?.type === 'symlink') return '120000';
  if (entry?.type !== 'file') return null;
  return (entry.mode & ownerRuns) === 0 ? '100644' : '100755';
}

/** Four octal digits: `0644`. */
export const octalMode = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, '0');
