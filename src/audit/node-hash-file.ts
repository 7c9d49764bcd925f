/**
 * The side file of stored hashes. It is written behind the log and never waited for: what it lacks
 * after a crash, or has wrong, is made again out of the lines.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  write,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { limits } from '../limits.ts';
import { readLinesBackward } from './lines-backward.ts';
import { eventLinePrefix, headLinePrefix, parseHeadLine } from './line-format.ts';
import { readByteRange, readLogLines } from './line-reader.ts';
import {
  merkleHashBytes,
  leafHash,
  storedHashCount,
  storedHashIndex,
  readMerkleTreeAt,
  MerkleTree,
} from './merkle.ts';
import { parseNote, type Checkpoint } from './signed-note.ts';
import { logFileNames, openForReading, type LogSegment } from './segments.ts';
import { LogLostError, type VerifyHead } from './store.ts';
import { withOpenFile } from './log-tail.ts';

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const writeAt = promisify(write);

/** Of a log. */
interface Lines {
  readonly segments: readonly LogSegment[];
  /** Bytes of the last segment that count. */
  readonly end: number;
  /** Over all of them. */
  readonly checkpoint: Checkpoint;
  readonly trusts: VerifyHead;
}

/** From where the lines have to be read. */
interface Known {
  /** Which segment. */
  readonly from: number;
  /** Byte in it. */
  readonly begin: number;
  readonly tree: MerkleTree;
}

/** Some of the last groups. */
const linesNearEnd = 1000;

export class NodeHashFile {
  readonly #fd: number;
  #writing: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#fd = openSync(
      path.join(directory, logFileNames.nodes),
      O_RDWR | O_CREAT | O_NOFOLLOW,
      0o600,
    );
  }

  /** The tree at `checkpoint`; `null` where the file does not have it, or not with `lastLeaf`. */
  async tree(
    { size, root }: Checkpoint,
    lastLeaf: string | null = null,
  ): Promise<MerkleTree | null> {
    if (fstatSync(this.#fd).size < storedHashCount(size) * merkleHashBytes) return null;
    if (lastLeaf !== null && size > 0) {
      const leaf = this.#read(storedHashIndex(0, size - 1));
      if (leaf.toString('hex') !== lastLeaf) return null;
    }
    const tree = await readMerkleTreeAt(size, (index) => this.#read(index));
    return tree.root().equals(root) ? tree : null;
  }

  /** Behind the others; an error leaves a file that is made again. */
  append(index: number, hashes: readonly Buffer[]): void {
    const bytes = Buffer.concat(hashes);
    this.#writing = this.#writing
      .then(() => writeAt(this.#fd, bytes, 0, bytes.length, index * merkleHashBytes))
      .catch(() => null);
  }

  /** Out of the lines. @throws LogLost when they are not what the last head covers */
  async rebuild({ segments, end, checkpoint, trusts }: Lines): Promise<MerkleTree> {
    const { from, begin, tree } =
      (await this.#nearEnd(segments, end, checkpoint.size)) ??
      (await this.#atSegment(segments, trusts));
    for (const segment of segments.slice(from)) {
      const isFirst = segment === segments[from];
      const isLast = segment === segments.at(-1);
      withOpenFile(segment.file, (fd, length) => {
        const range = { begin: isFirst ? begin : 0, end: isLast ? end : length };
        this.#replay(fd, range, tree);
      });
    }
    if (tree.size !== checkpoint.size || !tree.root().equals(checkpoint.root)) {
      throw new LogLostError('its events are not those that its last head covers');
    }
    ftruncateSync(this.#fd, storedHashCount(tree.size) * merkleHashBytes);
    return tree;
  }

  async close(): Promise<void> {
    await this.#writing;
    closeSync(this.#fd);
  }

  /** After a crash only what was written last lacks: the newest heads are asked first. */
  async #nearEnd(
    segments: readonly LogSegment[],
    end: number,
    size: number,
  ): Promise<Known | null> {
    const segment = segments.at(-1);
    if (segment === undefined) return null;
    const fd = openForReading(segment.file);
    try {
      let begin = end;
      let looked = 0;
      for (const line of readLinesBackward(fd, end)) {
        const note = parseHeadLine(line.toString());
        // Whether it was signed does not matter: the newest one was, and must come out.
        const head = note === null ? null : parseNote(note);
        // What lies before the newest one is read in any case: something there did not fit.
        const isOlder = head !== null && head.checkpoint.size < size;
        const tree = isOlder ? await this.tree(head.checkpoint) : null;
        if (tree !== null) return { from: segments.length - 1, begin, tree };
        begin -= line.length + 1;
        looked += 1;
        if (looked > linesNearEnd) return null;
      }
    } finally {
      closeSync(fd);
    }
    return null;
  }

  /** The newest segment at whose beginning the file can be believed. */
  async #atSegment(segments: readonly LogSegment[], trusts: VerifyHead): Promise<Known> {
    for (let from = segments.length - 1; from > 0; from -= 1) {
      const segment = segments[from];
      const head = segment === undefined ? null : readFirstHead(segment, trusts);
      const tree = head === null ? null : await this.tree(head);
      if (tree !== null && tree.size === segment?.first) return { from, begin: 0, tree };
    }
    return { from: 0, begin: 0, tree: new MerkleTree() };
  }

  #replay(
    fd: number,
    { begin, end }: { readonly begin: number; readonly end: number },
    tree: MerkleTree,
  ): void {
    let index = storedHashCount(tree.size);
    let waiting: Buffer[] = [];
    const flush = (): void => {
      writeSync(
        this.#fd,
        Buffer.concat(waiting),
        0,
        waiting.length * merkleHashBytes,
        index * merkleHashBytes,
      );
      index += waiting.length;
      waiting = [];
    };
    for (const { buffer, start, end: stop, isWhole } of readLogLines(
      fd,
      begin,
      end,
      lineBytesMax,
    )) {
      const line = buffer.toString('utf8', start, stop);
      if (line.startsWith(headLinePrefix)) continue;
      if (!isWhole || !line.startsWith(eventLinePrefix)) {
        throw new LogLostError('it has lines of no kind');
      }
      waiting.push(...tree.append(leafHash(line)));
      if (waiting.length > 10_000) flush();
    }
    flush();
  }

  #read(index: number): Buffer {
    return readByteRange(this.#fd, index * merkleHashBytes, (index + 1) * merkleHashBytes);
  }
}

/** An event of the largest size with its place in the chain. */
const lineBytesMax = limits.auditEventBytes.max + 1024;

/** The head that a segment begins with. */
export function readFirstHead(segment: LogSegment, trusts: VerifyHead): Checkpoint | null {
  return withOpenFile(segment.file, (fd) => {
    const bytes = readByteRange(fd, 0, 1024);
    const end = bytes.indexOf(10);
    const note = end < 0 ? null : parseHeadLine(bytes.toString('utf8', 0, end));
    return note === null ? null : trusts(note);
  });
}
