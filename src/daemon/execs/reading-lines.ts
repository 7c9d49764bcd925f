/** Chunks of an `exec.read` answer, whole or filtered by lines. */
import type { StreamChunk } from '../../protocol/types.ts';
import type { Range } from './reading.ts';

type Piece = Range['pieces'][number];

/** Text where the bytes are clean UTF-8, else base64. */
function chunkOf({ stream, offset, bytes }: Piece): StreamChunk {
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { seq: offset, stream, data: text }
    : { seq: offset, stream, b64: bytes.toString('base64') };
}

/** Neighbouring pieces of one stream as one, so that characters are not split needlessly. */
function merged(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const last = found.at(-1);
    if (last !== undefined && last.stream === piece.stream) {
      found[found.length - 1] = { ...last, bytes: Buffer.concat([last.bytes, piece.bytes]) };
    } else found.push(piece);
  }
  return found;
}

/** The lines of a piece with their offsets, line ends included. */
function linesOf({ stream, offset, bytes }: Piece): Piece[] {
  const found: Piece[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    const stop = end < 0 ? bytes.length : end + 1;
    found.push({ stream, offset: offset + at, bytes: bytes.subarray(at, stop) });
    at = stop;
  }
  return found;
}

export function chunksOf(
  pieces: readonly Piece[],
  filter: { grep: string | null; tail: number | null },
): StreamChunk[] {
  const whole = merged(pieces);
  if (filter.grep === null && filter.tail === null) return whole.map(chunkOf);
  const { grep, tail } = filter;
  const lines = whole
    .flatMap(linesOf)
    .filter(({ bytes }) => grep === null || bytes.includes(grep, 0, 'utf8'));
  return (tail === null ? lines : lines.slice(-tail)).map(chunkOf);
}
