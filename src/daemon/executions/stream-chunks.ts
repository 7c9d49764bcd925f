/** Chunks of an `exec.read` answer. */
import type { StreamChunk } from '../../api/receipt.ts';
import type { JournalRange } from './read-output.ts';

type OutputChunk = JournalRange['pieces'][number];

/** Text where the bytes are clean UTF-8, else base64. */
function chunkOf({ stream, offset, bytes }: OutputChunk): StreamChunk {
  const text = bytes.toString('utf8');
  return Buffer.from(text, 'utf8').equals(bytes)
    ? { seq: offset, stream, data: text }
    : { seq: offset, stream, b64: bytes.toString('base64') };
}

/** Joins adjacent chunks of one stream, so that characters are not split needlessly. */
function merged(pieces: readonly OutputChunk[]): OutputChunk[] {
  const runs: [OutputChunk, ...OutputChunk[]][] = [];
  let end = -1;
  for (const piece of pieces) {
    const last = runs.at(-1);
    if (last !== undefined && end === piece.offset && last[0].stream === piece.stream) {
      last.push(piece);
    } else runs.push([piece]);
    end = piece.offset + piece.bytes.length;
  }
  return runs.map((run) => ({ ...run[0], bytes: Buffer.concat(run.map(({ bytes }) => bytes)) }));
}

export const toStreamChunks = (pieces: readonly OutputChunk[]): StreamChunk[] =>
  merged(pieces).map(chunkOf);
