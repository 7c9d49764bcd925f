/** One pass over the lines of a log: chain, tree and heads. */
import { hash } from 'node:crypto';
import type { AuditFindings, AuditFindingKind } from './audit-findings.ts';
import {
  eventLinePrefix,
  parseEventLine,
  firstPrevHash,
  headLinePrefix,
  parseHeadLine,
} from './line-format.ts';
import type { LogLine } from './line-reader.ts';
import { MerkleTree } from './merkle.ts';
import { parseNote, type Checkpoint } from './signed-note.ts';
import type { LogSegment } from './segments.ts';
import type { HeadSignatures } from './head-signatures.ts';
import type { TornWrite } from './store.ts';

export class LineVerifier {
  readonly findings: AuditFindings;
  readonly repaired: TornWrite[] = [];
  readonly #signatures: HeadSignatures;
  readonly #onSize: (size: number, tree: MerkleTree) => void;
  readonly #tree = new MerkleTree();
  /** After a finding about events, roots say nothing any more. */
  #isTreeKnown = true;
  #log: string | null = null;
  #seq = 0;
  /** `null`: any will do, after a finding. */
  #prev: string | null = firstPrevHash;
  /** Of the head before; `null`: any will do. */
  #covered: number | null = null;
  #note: string | null = null;
  #heads = 0;
  #segment: { readonly name: string; readonly first: number } = { name: '', first: 0 };
  #isAtBegin = true;

  /** @param onSize told after each event, as long as the tree is known */
  constructor(
    signatures: HeadSignatures,
    findings: AuditFindings,
    onSize: (size: number, tree: MerkleTree) => void,
  ) {
    this.#signatures = signatures;
    this.findings = findings;
    this.#onSize = onSize;
  }

  get log(): string | null {
    return this.#log;
  }

  /** Events so far, covered or not. */
  get size(): number {
    return this.#seq;
  }

  get heads(): number {
    return this.#heads;
  }

  /** Events that no head covers yet. */
  get uncovered(): number {
    return this.#covered === null ? 0 : this.#seq - this.#covered;
  }

  get isTreeKnown(): boolean {
    return this.#isTreeKnown;
  }

  beginSegment(name: string, { first }: LogSegment): void {
    this.#segment = { name, first };
    this.#isAtBegin = true;
    if (first === this.#seq) return;
    const text = `This segment begins with event ${first}; the one before ends at ${this.#seq}.`;
    this.#find('segment.order', 0, text);
    this.#resume(first);
    this.#note = null;
  }

  verifyLine(line: LogLine): void {
    const { buffer, start, end, offset } = line;
    const begin = buffer.toString('latin1', start, start + eventLinePrefix.length);
    if (this.#isAtBegin && !begin.startsWith(headLinePrefix)) {
      this.#isAtBegin = false;
      this.#find('segment.order', offset, 'The segment does not begin with a head.');
    }
    if (begin === eventLinePrefix) {
      this.#event(line);
    } else if (begin.startsWith(headLinePrefix)) {
      this.#headLine(buffer.toString('utf8', start, end), offset);
    } else {
      this.#unknown(offset);
    }
  }

  #event({ buffer, start, end, offset }: LogLine): void {
    // What follows the event itself, and before it the kind of those that the log made.
    const last = buffer.toString('latin1', Math.max(start, end - lastBytes), end);
    const placed = `},"prev":"${this.#prev ?? ''}","seq":${this.#seq}}`;
    if (!last.endsWith(placed) && !this.#isExplained(buffer.toString('utf8', start, end), offset)) {
      return;
    }
    // A leaf is the hash of a zero and the line; the byte before the line is read and done with.
    buffer[start - 1] = 0;
    const leaf = hash('sha256', buffer.subarray(start - 1, end), 'buffer');
    this.#prev = leaf.toString('hex');
    this.#seq += 1;
    if (this.#isTreeKnown) {
      this.#tree.append(leaf);
      this.#onSize(this.#seq, this.#tree);
    }
    if (last.includes(repairedKind)) this.#repair(buffer.toString('utf8', start, end));
  }

  /** `false`: the line is no event at all. */
  #isExplained(text: string, offset: number): boolean {
    const stored = parseEventLine(text);
    const isExact =
      stored !== null && text.endsWith(`},"prev":"${stored.prev}","seq":${stored.seq}}`);
    if (!isExact || !/^[0-9a-f]{64}$/.test(stored.prev)) {
      this.#unknown(offset);
      return false;
    }
    const isAny = this.#prev === null;
    if (stored.seq !== this.#seq) {
      const told = `Here belongs event ${this.#seq}; it is event ${stored.seq}.`;
      if (!isAny) this.#find('event.order', offset, told);
      this.#resume(stored.seq);
    } else if (!isAny) {
      const about = this.#seq === 0 ? 'It' : `Event ${this.#seq - 1}`;
      const told = `${about} is not what it was when event ${this.#seq} was written after it.`;
      this.#find('event.changed', offset, told);
      this.#isTreeKnown = false;
    }
    return true;
  }

  #headLine(text: string, offset: number): void {
    const note = parseHeadLine(text);
    const read = note === null ? null : parseNote(note);
    const isFirst = this.#isAtBegin;
    this.#isAtBegin = false;
    if (note === null || read === null) {
      this.#find('line.unknown', offset, 'This head is not as heads are written.');
      this.#covered = null;
      this.#note = null;
      return;
    }
    const { checkpoint } = read;
    this.#log ??= checkpoint.log;
    this.#heads += 1;
    const { size } = checkpoint;
    this.#signatures.add(read, { note, segment: this.#segment.name, offset, size });
    if (checkpoint.log !== this.#log) {
      this.#find('head.order', offset, `This head is of another log, ${checkpoint.log}.`);
    } else if (isFirst) {
      this.#firstHead(checkpoint, note, offset);
    } else {
      this.#nextHead(checkpoint, offset);
    }
    this.#covered = size;
    this.#note = note;
  }

  /** A segment opens with the last head of the one before. */
  #firstHead(checkpoint: Checkpoint, note: string, offset: number): void {
    const { size } = checkpoint;
    const isSame = this.#note === null || note === this.#note;
    if (size !== this.#segment.first || !isSame) {
      const text = `This segment begins with event ${this.#segment.first}, and with another head.`;
      this.#find('segment.order', offset, text);
    } else {
      this.#compare(checkpoint, offset);
    }
  }

  #nextHead(checkpoint: Checkpoint, offset: number): void {
    const { size, previous } = checkpoint;
    if (this.#covered !== null && previous !== this.#covered) {
      const told = `The head before this one covers ${previous} events, and is not there.`;
      this.#find('head.order', offset, told);
    }
    if (this.#covered !== null && size <= this.#covered) {
      this.#find('head.order', offset, `A head over ${this.#covered} events comes before it.`);
    } else if (size !== this.#seq && this.#prev !== null) {
      this.#find('head.mismatch', offset, `It covers ${size} events, and ${this.#seq} are here.`);
    }
    this.#compare(checkpoint, offset);
  }

  #compare({ size, root }: Checkpoint, offset: number): void {
    if (!this.#isTreeKnown || size !== this.#seq || this.#tree.root().equals(root)) return;
    this.#find('head.mismatch', offset, `It does not cover the ${size} events that are here.`);
    // Each that follows would say so, too.
    this.#isTreeKnown = false;
  }

  #unknown(offset: number): void {
    this.#find('line.unknown', offset, 'This line is neither an event nor a head.');
    this.#isTreeKnown = false;
    this.#prev = null;
  }

  /** Whatever follows, after a finding. */
  #resume(seq: number): void {
    this.#isTreeKnown = false;
    this.#seq = seq;
    this.#prev = null;
    this.#covered = null;
  }

  #repair(text: string): void {
    const data = parseEventLine(text)?.event.data ?? {};
    const { file, sha256, bytes, seq } = data;
    if (typeof file !== 'string' || typeof sha256 !== 'string') return;
    if (typeof bytes !== 'number' || typeof seq !== 'number') return;
    this.repaired.push({ file, sha256, bytes, seq });
  }

  #find(kind: AuditFindingKind, offset: number, text: string): void {
    this.findings.add(kind, { segment: this.#segment.name, offset, seq: this.#seq }, text);
  }
}

const repairedKind = '"kind":"log.repaired"';
/** More than kind and place take. */
const lastBytes = 200;
