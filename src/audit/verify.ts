/**
 * Checks every byte of a log: chain, tree, heads and signatures, in one pass and bounded memory. It
 * trusts nothing but the public key, and heads that were kept elsewhere.
 */
import type { KeyObject } from 'node:crypto';
import { closeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { Findings, type Finding } from './findings.ts';
import { linesOf } from './lines.ts';
import { logDirectories } from './logs.ts';
import type { Tree } from './merkle.ts';
import { openHead } from './note.ts';
import { Pass } from './pass.ts';
import { hasCode, openRead, segmentsOf, type Segment } from './segments.ts';
import { Signatures } from './signatures.ts';
import type { Torn } from './store.ts';
import { withFile } from './tail.ts';
import { checkFiles } from './verify-files.ts';

export interface VerifyOptions {
  /** Of one log, or `audit` for all of them. */
  readonly directory: string;
  readonly publicKey: KeyObject;
  /** Signed notes that were kept elsewhere, of this log or of others. */
  readonly heads?: readonly string[] | undefined;
  /**
   * How long to wait for the head of a group that a runtime may be writing, in milliseconds.
   * Default: 500; 0 where nobody writes.
   */
  readonly patienceMs?: number | undefined;
}

export interface LogReport {
  readonly directory: string;
  /** 32 lower-case hex digits; `null`: it has no head. */
  readonly log: string | null;
  readonly events: number;
  readonly heads: number;
  readonly bytes: number;
  /** The newest good one: worth keeping elsewhere. */
  readonly head: string | null;
  /** Whether nothing was found. */
  readonly isGood: boolean;
  /** The first of them; `findingCount` is all. */
  readonly findings: readonly Finding[];
  readonly findingCount: number;
  /** Ends that a crash left unfinished, set aside as the log tells. */
  readonly repaired: readonly Torn[];
}

export interface LogsReport {
  readonly isGood: boolean;
  readonly logs: readonly LogReport[];
  /** Of logs that are not there, and of heads that another key signed. */
  readonly findings: readonly Finding[];
}

const lineBytesMax = limits.auditEventBytes.max + 1024;
const defaultPatienceMs = 500;

/** Every log of an `audit` directory. */
export async function verifyLogs(options: VerifyOptions): Promise<LogsReport> {
  const logs: LogReport[] = [];
  for (const directory of logDirectories(options.directory)) {
    logs.push(await verifyLog({ ...options, directory }));
  }
  const missing = new Findings();
  const known = new Set(logs.map(({ log }) => log));
  for (const note of options.heads ?? []) {
    const kept = openHead(note, options.publicKey);
    if (kept === null) {
      missing.add('key.changed', {}, 'A head that was kept elsewhere was not signed by this key.');
    } else if (!known.has(kept.log)) {
      const text = `Log ${kept.log}, of which a head over ${kept.size} events was kept, is not here.`;
      missing.add('log.missing', {}, text);
    }
  }
  const findings = missing.sorted();
  return { isGood: findings.length === 0 && logs.every(({ isGood }) => isGood), logs, findings };
}

/** A directory without a log, or one that cannot be read, is a finding and no error. */
export async function verifyLog(options: VerifyOptions): Promise<LogReport> {
  const { directory, publicKey } = options;
  const findings = new Findings();
  const signatures = new Signatures(publicKey);
  const kept = new KeptHeads(options, findings);
  const pass = new Pass(signatures, findings, (size, tree) => kept.meet(size, tree));
  let bytes = 0;
  try {
    const segments = segmentsOf(directory);
    if (segments.length === 0) findings.add('log.empty', {}, 'There is no segment.');
    for (const segment of segments) {
      const isLast = segment === segments.at(-1);
      const patienceMs = isLast ? (options.patienceMs ?? defaultPatienceMs) : 0;
      bytes += await readSegment(segment, { pass, signatures, patienceMs });
    }
    await signatures.all();
    checkFiles(directory, pass.repaired, findings);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EIO', 'ELOOP', 'ENOENT', 'EISDIR', 'EPERM')) throw error;
    findings.add('log.unreadable', {}, `It cannot be read: ${String(error)}.`);
  }
  for (const { segment, offset, size } of signatures.bad) {
    const text = `The head over ${size} events was not signed by this key.`;
    findings.add('head.signature', { segment, offset, seq: size }, text);
  }
  kept.end(pass);
  return {
    directory,
    log: pass.log,
    events: pass.size,
    heads: pass.heads,
    bytes,
    head: signatures.newest?.note ?? null,
    isGood: findings.count === 0,
    findings: findings.sorted(),
    findingCount: findings.count,
    repaired: pass.repaired,
  };
}

interface Reading {
  readonly pass: Pass;
  readonly signatures: Signatures;
  readonly patienceMs: number;
}

/** Its length in bytes. */
async function readSegment(segment: Segment, reading: Reading): Promise<number> {
  const { pass, patienceMs } = reading;
  const name = path.basename(segment.file);
  pass.begin(name, segment);
  let position = 0;
  let length = 0;
  for (let waited = 0, step = 1; ; waited += step, step *= 2) {
    length = withFile(segment.file, (_, size) => size);
    position = await readLines(segment.file, { position, length }, reading);
    const isEnd = position === length && pass.uncovered === 0;
    if (isEnd || pass.findings.count > 0 || waited >= patienceMs) break;
    await wait(step);
  }
  const at = { segment: name, offset: position, seq: pass.size };
  if (length === 0) {
    pass.findings.add('end.unfinished', at, 'The segment is empty.');
  } else if (position < length) {
    const text = `The last ${length - position} bytes are no whole line.`;
    pass.findings.add('end.unfinished', at, text);
  } else if (pass.uncovered > 0) {
    pass.findings.add('end.unfinished', at, `No head covers the last ${pass.uncovered} events.`);
  }
  return length;
}

/** Whole lines up to `length`; answers where they end. */
async function readLines(
  file: string,
  { position, length }: { readonly position: number; readonly length: number },
  { pass, signatures }: Reading,
): Promise<number> {
  const fd = openRead(file);
  try {
    let reached = position;
    for (const line of linesOf(fd, position, length, lineBytesMax)) {
      const bytes = line.end - line.start;
      if (!line.isWhole && bytes <= lineBytesMax) return line.offset;
      pass.line(line);
      if (signatures.isFull) await signatures.some();
      reached = line.offset + bytes + (line.isWhole ? 1 : 0);
    }
    return reached;
  } finally {
    closeSync(fd);
  }
}

/** Heads that were kept elsewhere, against what is there. */
class KeptHeads {
  readonly #all: { readonly log: string; readonly size: number; readonly root: Buffer }[];
  readonly #sizes: ReadonlySet<number>;
  readonly #roots = new Map<number, Buffer>();
  readonly #findings: Findings;

  constructor({ heads = [], publicKey }: VerifyOptions, findings: Findings) {
    this.#all = heads.map((note) => openHead(note, publicKey)).filter((one) => one !== null);
    this.#sizes = new Set(this.#all.map(({ size }) => size));
    this.#findings = findings;
  }

  meet(size: number, tree: Tree): void {
    if (this.#sizes.has(size)) this.#roots.set(size, tree.root());
  }

  end({ log, size: there }: Pass): void {
    for (const { size, root } of this.#all.filter((one) => one.log === log)) {
      const found = this.#roots.get(size);
      if (size > there) {
        const text = `A head over ${size} events was kept elsewhere; ${there} are here.`;
        this.#findings.add('log.truncated', { seq: there }, text);
      } else if (found !== undefined && !found.equals(root)) {
        const text = `A head over ${size} events that was kept elsewhere covers other events.`;
        this.#findings.add('log.forked', { seq: size }, text);
      }
    }
  }
}
