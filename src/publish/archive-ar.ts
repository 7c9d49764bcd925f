/**
 * `ar` archives, of which a Debian package is one: `!<arch>\n`, then for each member a header of
 * 60 bytes (name 16, times and owners, size 10 at 48, end mark) and its content, filled up to two.
 */
import type { Archive, ArchiveMember } from './archive.ts';
import { latin1 } from '../encodings/text.ts';

const magicBytes = 8;
const headerBytes = 60;

export function readAr(bytes: Uint8Array): Archive {
  let end = magicBytes;
  function* members(): Generator<ArchiveMember> {
    while (end + headerBytes <= bytes.length) {
      const header = latin1(bytes.subarray(end, end + headerBytes));
      const size = Number.parseInt(header.slice(48, 58), 10);
      if (!header.endsWith('`\n') || Number.isNaN(size) || size < 0) return;
      const from = end + headerBytes;
      const content = bytes.subarray(from, from + size);
      end = Math.min(bytes.length, from + size + (size % 2));
      const closed = content.length < size ? 'damaged: it ends before its content does' : null;
      const name = header
        .slice(0, 16)
        .trimEnd()
        .replace(/(.)\/$/, '$1');
      yield { name, bytes: content, unreadableReason: closed, packing: null };
    }
  }
  return {
    members: members(),
    uncovered: () => (end < bytes.length ? [[end, bytes.length]] : []),
  };
}
