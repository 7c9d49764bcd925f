/** Proofs that need no log: that an event is in it, and that one head continues another. */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { closeSync, existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fieldOf } from '../json-shape.ts';
import type { AuditEvent } from './event.ts';
import { auditKeyIdOf, publicKeyPem } from './audit-key.ts';
import { parseEventLine } from './line-format.ts';
import { openForReading, readByteRange, withOpenFile } from './line-reader.ts';
import { buildConsistencyProof, buildInclusionProof, isConsistent, isIncluded } from './merkle.ts';
import { leafHash, merkleHashBytes, MerkleTree, readMerkleTreeAt } from './merkle.ts';
import type { ReadHash } from './merkle.ts';
import { verifyHeadNote, type Checkpoint } from './signed-note.ts';
import { readEventAt, readLogEvents } from './read-events.ts';
import { listSegments, logFileNames } from './log-files.ts';
import { findLastHead } from './log-tail.ts';

/** A JSON file. */
export interface EventProof {
  readonly version: 1;
  readonly log: string;
  /** SPKI, PEM. The verifier should know the key from elsewhere. */
  readonly public_key: string;
  readonly seq: number;
  /** The line as it is in the log, without its newline. */
  readonly event: string;
  /** Hashes up to the root, base64, the lowest first (RFC 6962, 2.1.1). */
  readonly proof: readonly string[];
  /** The signed note. */
  readonly checkpoint: string;
}

export interface HeadsProof {
  readonly version: 1;
  readonly log: string;
  readonly public_key: string;
  readonly older: string;
  readonly newer: string;
  /** Base64 (RFC 6962, 2.1.2). */
  readonly proof: readonly string[];
}

export interface ProveOptions {
  /** Of one log. */
  readonly directory: string;
  readonly publicKey: KeyObject;
}

/** `null`: no head that this key signed covers such an event, or the log is damaged. */
export async function proveEvent(options: ProveOptions, seq: number): Promise<EventProof | null> {
  const newest = newestHead(options);
  const found = readEventAt(options.directory, seq);
  if (newest === null || found === null || seq >= newest.checkpoint.size) return null;
  const { checkpoint, note } = newest;
  const proof = await withHashes(options.directory, checkpoint, (read) =>
    buildInclusionProof(seq, checkpoint.size, read),
  );
  if (proof === null) return null;
  const made: EventProof = {
    version: 1,
    log: checkpoint.log,
    public_key: publicKeyPem(options.publicKey),
    seq,
    event: found.line,
    proof: proof.map((one) => one.toString('base64')),
    checkpoint: note,
  };
  return checkEventProof(made).isGood ? made : null;
}

/** Proves that the newest head continues `older`, a signed note; `null`: it does not. */
export async function proveHeads(options: ProveOptions, older: string): Promise<HeadsProof | null> {
  const newest = newestHead(options);
  const old = verifyHeadNote(older, options.publicKey);
  if (newest === null || old === null || old.size > newest.checkpoint.size) return null;
  const { size } = newest.checkpoint;
  const proof = await withHashes(options.directory, newest.checkpoint, (read) =>
    buildConsistencyProof(old.size, size, read),
  );
  if (proof === null) return null;
  const made: HeadsProof = {
    version: 1,
    log: old.log,
    public_key: publicKeyPem(options.publicKey),
    older,
    newer: newest.note,
    proof: proof.map((one) => one.toString('base64')),
  };
  return checkHeadsProof(made).isGood ? made : null;
}

export interface ProofReport {
  readonly isGood: boolean;
  /** Why it is not valid; `null`: it is. */
  readonly reason: string | null;
  /** Id of the key that it was checked with. */
  readonly key: string | null;
  readonly head: Checkpoint | null;
  readonly event: AuditEvent | null;
}

/**
 * Checks a proof without its log. Without `publicKey` it is checked with the key that it includes:
 * then it only proves that the owner of that key wrote the event.
 */
export function checkEventProof(proof: unknown, publicKey?: KeyObject): ProofReport {
  const hashes = base64List(fieldOf(proof, 'proof'));
  const [line, note, seq] = ['event', 'checkpoint', 'seq'].map((name) => fieldOf(proof, name));
  const key = publicKey ?? keyIn(fieldOf(proof, 'public_key'));
  if (fieldOf(proof, 'version') !== 1 || key === null || hashes === null) return bad(noProof);
  if (typeof line !== 'string' || typeof note !== 'string' || typeof seq !== 'number') {
    return bad(noProof);
  }
  const head = verifyHeadNote(note, key);
  if (head === null) return bad('its head was not signed by the key');
  const stored = parseEventLine(line);
  if (stored === null || stored.seq !== seq || !Number.isSafeInteger(seq) || seq < 0) {
    return bad('its event is not in the format of events');
  }
  if (head.log !== fieldOf(proof, 'log')) return bad('its head is of another log');
  const { size, root } = head;
  if (!isIncluded({ leaf: leafHash(line), seq, size, root, proof: hashes })) {
    return bad('its event is not what the head covers');
  }
  return { isGood: true, reason: null, key: auditKeyIdOf(key), head, event: stored.event };
}

/** Checks that the newer head of a proof continues the older one. */
export function checkHeadsProof(proof: unknown, publicKey?: KeyObject): ProofReport {
  const hashes = base64List(fieldOf(proof, 'proof'));
  const [olderNote, newerNote] = ['older', 'newer'].map((name) => fieldOf(proof, name));
  const key = publicKey ?? keyIn(fieldOf(proof, 'public_key'));
  if (fieldOf(proof, 'version') !== 1 || key === null || hashes === null) return bad(noProof);
  if (typeof olderNote !== 'string' || typeof newerNote !== 'string') return bad(noProof);
  const [older, newer] = [verifyHeadNote(olderNote, key), verifyHeadNote(newerNote, key)];
  if (older === null || newer === null) return bad('a head was not signed by the key');
  if (older.log !== newer.log || older.log !== fieldOf(proof, 'log')) {
    return bad('the heads are of different logs');
  }
  if (!isConsistent({ older, newer, proof: hashes })) {
    return bad('the newer head does not continue the older one');
  }
  return { isGood: true, reason: null, key: auditKeyIdOf(key), head: newer, event: null };
}

const noProof = 'it is not a proof of this version';

const bad = (reason: string): ProofReport => ({
  isGood: false,
  reason,
  key: null,
  head: null,
  event: null,
});

function newestHead({
  directory,
  publicKey,
}: ProveOptions): { readonly note: string; readonly checkpoint: Checkpoint } | null {
  for (const { file } of listSegments(directory).toReversed()) {
    const found = withOpenFile(file, (fd, length) =>
      findLastHead(fd, length, (note) => verifyHeadNote(note, publicKey)),
    );
    if (found !== null) return found;
  }
  return null;
}

/**
 * Reads hashes from the side file or, if they do not match, from hashes computed from the lines;
 * `null`: neither match.
 */
async function withHashes<T>(
  directory: string,
  checkpoint: Checkpoint,
  use: (read: ReadHash) => Promise<T>,
): Promise<T | null> {
  const file = path.join(directory, logFileNames.nodes);
  // A runtime writes it right after the log.
  for (let tries = 0; tries < 3 && existsSync(file); tries += 1) {
    const fd = openForReading(file);
    try {
      const read: ReadHash = (index) =>
        readByteRange(fd, index * merkleHashBytes, (index + 1) * merkleHashBytes);
      if (await matches(read, checkpoint)) return await use(read);
    } finally {
      closeSync(fd);
    }
    await wait(5);
  }
  const hashes = storedHashesOf(directory, checkpoint.size);
  const read: ReadHash = (index) => hashes[index] ?? Buffer.alloc(merkleHashBytes);
  return (await matches(read, checkpoint)) ? await use(read) : null;
}

async function matches(read: ReadHash, { size, root }: Checkpoint): Promise<boolean> {
  return (await readMerkleTreeAt(size, read)).root().equals(root);
}

function storedHashesOf(directory: string, size: number): Buffer[] {
  const tree = new MerkleTree();
  const hashes: Buffer[] = [];
  for (const { line } of readLogEvents(directory, {}, 'oldest')) {
    if (tree.size < size) hashes.push(...tree.append(leafHash(line)));
  }
  return hashes;
}

function keyIn(pem: unknown): KeyObject | null {
  try {
    const key = typeof pem === 'string' ? createPublicKey(pem) : null;
    return key?.asymmetricKeyType === 'ed25519' ? key : null;
  } catch {
    return null;
  }
}

/** `null`: it is not a list of hashes. */
function base64List(value: unknown): Buffer[] | null {
  if (!Array.isArray(value) || value.length > 64) return null;
  const hashes = value.map((one: unknown) =>
    typeof one === 'string' ? Buffer.from(one, 'base64') : Buffer.alloc(0),
  );
  return hashes.every((one) => one.length === merkleHashBytes) ? hashes : null;
}
