/** Paths as names of subjects: a path is bytes, a name is text, and no two paths share one. */
import type { BytePath } from '../change.ts';

/** What a name begins with that is base64 of bytes. */
export const bytesNamePrefix = 'bytes:';

// A mark at the start of a name belongs to it.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The path where it is UTF-8; else, and where it begins with `bytes:`, `bytes:` and base64. */
export function encodePathName(path: BytePath): string {
  const text = textOf(path);
  if (text !== null && !text.startsWith(bytesNamePrefix)) return text;
  return `${bytesNamePrefix}${Buffer.from(path, 'latin1').toString('base64')}`;
}

/** The path that {@link encodePathName} wrote as `name`. */
export function decodePathName(name: string): BytePath {
  return name.startsWith(bytesNamePrefix)
    ? Buffer.from(name.slice(bytesNamePrefix.length), 'base64').toString('latin1')
    : Buffer.from(name).toString('latin1');
}

/** How it looks to people; bytes that are no UTF-8 show as U+FFFD. */
export function displayPath(path: BytePath): string {
  return Buffer.from(path, 'latin1').toString('utf8');
}

function textOf(path: BytePath): string | null {
  try {
    return utf8.decode(Buffer.from(path, 'latin1'));
  } catch {
    return null;
  }
}
