/**
 * Checks the lines of a log in one pass: chain, tree and heads; signatures on the threads of the
 * runtime meanwhile.
 */
import { hash, verify, type KeyObject } from 'node:crypto';
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
import {
  findOwnSignature,
  parseNote,
  rawEd25519Key,
  type Checkpoint,
  type ParsedNote,
} from './signed-note.ts';
import type { LogSegment } from './log-files.ts';
import type { TornWrite } from './store.ts';

export class LineVerifier {
  readonly findings: AuditFindings;
  readonly repaired: TornWrite[] = [];
  readonly #signatures: HeadSignatures;
  readonly #onSize: (size: number, tree: MerkleTree) => void;
  readonly #tree = new MerkleTree();
  /** After a finding about events, roots prove nothing any more. */
  #isTreeKnown = true;
  #log: string | null = null;
  #seq = 0;
  /** `null`: any is accepted, after a finding. */
  #prev: string | null = firstPrevHash;
  /** Size of the head before; `null`: any is accepted. */
  #covered: number | null = null;
  #note: string | null = null;
  #heads = 0;
  #segment: { readonly name: string; readonly first: number } = { name: '', first: 0 };
  #isAtBegin = true;

  /** @param onSize runs after each event while the tree is known */
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

  /** Events that no head covers so far. */
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
    // What follows the event itself and, in events of the log itself, their kind.
    const last = buffer.toString('latin1', Math.max(start, end - lastBytes), end);
    const position = `},"prev":"${this.#prev ?? ''}","seq":${this.#seq}}`;
    if (!last.endsWith(position) && !this.#isEvent(buffer.toString('utf8', start, end), offset)) {
      return;
    }
    // A leaf is the hash of a zero and the line; the byte before the line is not needed any more.
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

  /** Reports what is wrong with the line; `false`: it is no event at all. */
  #isEvent(line: string, offset: number): boolean {
    const stored = parseEventLine(line);
    const isExact =
      stored !== null && line.endsWith(`},"prev":"${stored.prev}","seq":${stored.seq}}`);
    if (!isExact || !/^[0-9a-f]{64}$/.test(stored.prev)) {
      this.#unknown(offset);
      return false;
    }
    const isAny = this.#prev === null;
    if (stored.seq !== this.#seq) {
      const text = `Event ${this.#seq} belongs here; it is event ${stored.seq}.`;
      if (!isAny) this.#find('event.order', offset, text);
      this.#resume(stored.seq);
    } else if (!isAny) {
      const subject = this.#seq === 0 ? 'It' : `Event ${this.#seq - 1}`;
      const text = `${subject} is not what it was when event ${this.#seq} was written after it.`;
      this.#find('event.changed', offset, text);
      this.#isTreeKnown = false;
    }
    return true;
  }

  #headLine(text: string, offset: number): void {
    const note = parseHeadLine(text);
    const parsed = note === null ? null : parseNote(note);
    const isFirst = this.#isAtBegin;
    this.#isAtBegin = false;
    if (note === null || parsed === null) {
      this.#find('line.unknown', offset, 'This head is not in the format of heads.');
      this.#covered = null;
      this.#note = null;
      return;
    }
    const { checkpoint } = parsed;
    this.#log ??= checkpoint.log;
    this.#heads += 1;
    const { size } = checkpoint;
    this.#signatures.add(parsed, { note, segment: this.#segment.name, offset, size });
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

  /** A segment begins with the last head of the one before. */
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
      const text = `The head before this one covers ${previous} events, and is missing.`;
      this.#find('head.order', offset, text);
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
    // Otherwise each head that follows would report it, too.
    this.#isTreeKnown = false;
  }

  #unknown(offset: number): void {
    this.#find('line.unknown', offset, 'This line is neither an event nor a head.');
    this.#isTreeKnown = false;
    this.#prev = null;
  }

  /** Accepts any event and head that follows. */
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
/** More than kind and position take. */
const lastBytes = 200;

/** Signatures that are checked at the same time. */
const inFlightMax = 64;
/** So many are checked here: that is faster than to start other threads. */
const checkedHereMax = 16;

export interface SignedHeadLocation {
  readonly note: string;
  readonly segment: string;
  readonly offset: number;
  readonly size: number;
}

export class HeadSignatures {
  readonly #publicKey: KeyObject;
  readonly #raw: Buffer;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #bad: SignedHeadLocation[] = [];
  #newest: SignedHeadLocation | null = null;
  #count = 0;

  constructor(publicKey: KeyObject) {
    this.#publicKey = publicKey;
    this.#raw = rawEd25519Key(publicKey);
  }

  /** Invalid ones so far, all after {@link waitForAll}. */
  get bad(): readonly SignedHeadLocation[] {
    return this.#bad;
  }

  /** The valid one over the most events. */
  get newest(): SignedHeadLocation | null {
    return this.#newest;
  }

  get isFull(): boolean {
    return this.#inFlight.size >= inFlightMax;
  }

  add(parsed: ParsedNote, head: SignedHeadLocation): void {
    const signature = findOwnSignature(parsed, this.#raw);
    this.#count += 1;
    if (signature === null || parsed.signatures.length !== 1) {
      this.#bad.push(head);
    } else if (this.#count <= checkedHereMax) {
      this.#record(head, verify(null, parsed.signed, this.#publicKey, signature));
    } else {
      const check = this.#check(parsed.signed, signature).then((isGood) => {
        this.#inFlight.delete(check);
        return this.#record(head, isGood);
      });
      this.#inFlight.add(check);
    }
  }

  /** Resolves when there is room for more. */
  async waitForRoom(): Promise<void> {
    await Promise.race(this.#inFlight);
  }

  async waitForAll(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  #record(head: SignedHeadLocation, isGood: boolean): void {
    if (!isGood) this.#bad.push(head);
    else if (head.size >= (this.#newest?.size ?? 0)) this.#newest = head;
  }

  #check(signed: Buffer, signature: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      verify(null, signed, this.#publicKey, signature, (error, isGood) => {
        resolve(error === null && isGood);
      });
    });
  }
}
