/**
 * The side file of stored hashes. It is written after the log and nothing waits for it: what is
 * missing after a crash, or wrong, is rebuilt from the lines.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { write, writeSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { eventLinePrefix, headLinePrefix, parseHeadLine } from './line-format.ts';
import {
  openForReading,
  readByteRange,
  readLinesBackward,
  readLogLines,
  withOpenFile,
} from './line-reader.ts';
import {
  merkleHashBytes,
  leafHash,
  storedHashCount,
  storedHashIndex,
  readMerkleTreeAt,
  MerkleTree,
} from './merkle.ts';
import { parseNote, type Checkpoint } from './signed-note.ts';
import { logFileNames, type LogSegment } from './log-files.ts';
import { LogLostError, type VerifyHead } from './store.ts';

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;
const writeAt = promisify(write);

interface LogContents {
  readonly segments: readonly LogSegment[];
  /** Bytes of the last segment that count. */
  readonly end: number;
  /** Over all of them. */
  readonly checkpoint: Checkpoint;
  readonly verifyHead: VerifyHead;
}

/** Where to start reading lines. */
interface ReplayStart {
  /** Index of the segment. */
  readonly from: number;
  /** Byte in it. */
  readonly begin: number;
  /** Over the lines before. */
  readonly tree: MerkleTree;
}

/** The last few groups. */
const linesNearEndMax = 1000;

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

  /** The tree at `checkpoint`; `null`: the file does not have it, or not with `lastLeaf`. */
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

  /** Writes in the background; an error leaves a file that will be rebuilt. */
  append(index: number, hashes: readonly Buffer[]): void {
    const bytes = Buffer.concat(hashes);
    this.#writing = this.#writing
      .then(() => writeAt(this.#fd, bytes, 0, bytes.length, index * merkleHashBytes))
      .catch(() => null);
  }

  /** From the lines. @throws LogLost when they are not what the last head covers */
  async rebuild({ segments, end, checkpoint, verifyHead }: LogContents): Promise<MerkleTree> {
    const { from, begin, tree } =
      (await this.#nearEnd(segments, end, checkpoint.size)) ??
      (await this.#atSegment(segments, verifyHead));
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

  /** After a crash only the last writes are missing, so the newest heads are tried first. */
  async #nearEnd(
    segments: readonly LogSegment[],
    end: number,
    size: number,
  ): Promise<ReplayStart | null> {
    const segment = segments.at(-1);
    if (segment === undefined) return null;
    const fd = openForReading(segment.file);
    try {
      let begin = end;
      let lines = 0;
      for (const line of readLinesBackward(fd, end)) {
        const note = parseHeadLine(line.toString());
        // Its signature does not matter: the root of the newest head, which was signed, must
        // result.
        const head = note === null ? null : parseNote(note);
        // The newest head itself did not match, so the lines before it are read in any case.
        const isOlder = head !== null && head.checkpoint.size < size;
        const tree = isOlder ? await this.tree(head.checkpoint) : null;
        if (tree !== null) return { from: segments.length - 1, begin, tree };
        begin -= line.length + 1;
        lines += 1;
        if (lines > linesNearEndMax) return null;
      }
    } finally {
      closeSync(fd);
    }
    return null;
  }

  /** The newest segment at whose beginning the file matches the log. */
  async #atSegment(segments: readonly LogSegment[], verifyHead: VerifyHead): Promise<ReplayStart> {
    for (let from = segments.length - 1; from > 0; from -= 1) {
      const segment = segments[from];
      const head = segment === undefined ? null : readFirstHead(segment, verifyHead);
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
    let pending: Buffer[] = [];
    const flush = (): void => {
      const bytes = Buffer.concat(pending);
      writeSync(this.#fd, bytes, 0, bytes.length, index * merkleHashBytes);
      index += pending.length;
      pending = [];
    };
    for (const { buffer, start, end: stop, isWhole } of readLogLines(fd, begin, end)) {
      const line = buffer.toString('utf8', start, stop);
      if (line.startsWith(headLinePrefix)) continue;
      if (!isWhole || !line.startsWith(eventLinePrefix)) {
        throw new LogLostError('it has lines that are neither events nor heads');
      }
      pending.push(...tree.append(leafHash(line)));
      if (pending.length > 10_000) flush();
    }
    flush();
  }

  #read(index: number): Buffer {
    return readByteRange(this.#fd, index * merkleHashBytes, (index + 1) * merkleHashBytes);
  }
}

/** The head that a segment begins with. */
export function readFirstHead(segment: LogSegment, verifyHead: VerifyHead): Checkpoint | null {
  return withOpenFile(segment.file, (fd) => {
    const bytes = readByteRange(fd, 0, 1024);
    const end = bytes.indexOf(10);
    const note = end < 0 ? null : parseHeadLine(bytes.toString('utf8', 0, end));
    return note === null ? null : verifyHead(note);
  });
}
