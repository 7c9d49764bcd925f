/**
 * A log as one file that can be checked without the directory. Lines are as they are in the log; a
 * head that begins a segment is not repeated:
 *
 *   {"export":{"log":"<32 hex digits>","public_key":"<SPKI, PEM>","version":1}}
 *   {"head":"…"}
 *   {"event":{…},"prev":"…","seq":0}
 *   …
 *
 * Several logs may follow each other.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { closeSync, fstatSync } from 'node:fs';
import path from 'node:path';
import { fieldOf } from '../json-shape.ts';
import { canonicalJson } from '../canonical.ts';
import { publicKeyPem } from './audit-key.ts';
import { LogCheck, findMissingLogs, type LogCheckOptions, type LogReport } from './log-check.ts';
import { openForReading, readLogLines, type LogLine } from './line-reader.ts';
import { readCoveredLines, readLogId } from './read-events.ts';
import { listSegments } from './log-files.ts';
import type { LogsReport } from './verify.ts';

/** Lines with their newlines of the log in `directory`; none if there is no log. */
export function* exportLogLines(directory: string, publicKey: KeyObject): Generator<string> {
  const log = readLogId(directory);
  if (log === null) return;
  const public_key = publicKeyPem(publicKey);
  yield `${canonicalJson({ export: { log, public_key, version: 1 } })}\n`;
  for (const [number, { file }] of listSegments(directory).entries()) {
    let isRepeated = number > 0;
    for (const line of readCoveredLines(file)) {
      if (!isRepeated) yield `${line.toString()}\n`;
      isRepeated = false;
    }
  }
}

export interface VerifyExportOptions {
  readonly file: string;
  /** Default: the key that the export includes. */
  readonly publicKey?: KeyObject | undefined;
  /** Signed notes that were saved elsewhere. */
  readonly heads?: readonly string[] | undefined;
}

/** @throws the error of the operating system if the file cannot be read */
export async function verifyExport(options: VerifyExportOptions): Promise<LogsReport> {
  const { file, heads } = options;
  const logs: LogReport[] = [];
  const fd = openForReading(file);
  let key = options.publicKey ?? null;
  try {
    let section: Section | null = null;
    const length = fstatSync(fd).size;
    for (const line of readLogLines(fd, 0, length)) {
      const header = headerOf(line);
      if (header !== null) {
        if (section !== null) logs.push(await section.end(line.offset));
        key = options.publicKey ?? header.key;
        section = new Section({ file, begin: line.offset, ...header }, { publicKey: key, heads });
        continue;
      }
      if (section === null) break;
      await section.line(line);
    }
    if (section !== null) logs.push(await section.end(length));
  } finally {
    closeSync(fd);
  }
  if (key === null) {
    const text = 'It is not the export of a log.';
    const finding = { kind: 'log.empty', segment: null, offset: null, seq: null, text } as const;
    return { isGood: false, logs, findings: [finding] };
  }
  const findings = findMissingLogs({ publicKey: key, heads }, logs);
  const isGood = logs.length > 0 && logs.every((one) => one.isGood) && findings.length === 0;
  return { isGood, logs, findings };
}

interface SectionOrigin {
  readonly file: string;
  /** Byte of its first line. */
  readonly begin: number;
  /** According to its first line. */
  readonly log: string;
  readonly key: KeyObject;
}

/** The lines of one log. */
class Section {
  readonly #file: string;
  readonly #begin: number;
  readonly #log: string;
  readonly #check: LogCheck;

  constructor({ file, begin, log, key }: SectionOrigin, options: LogCheckOptions) {
    this.#file = file;
    this.#begin = begin;
    this.#log = log;
    this.#check = new LogCheck(options);
    if (!key.equals(options.publicKey)) {
      this.#check.findings.add('key.changed', { offset: begin }, 'It includes another key.');
    }
    this.#check.pass.beginSegment(path.basename(file), { file, first: 0 });
  }

  async line(line: LogLine): Promise<void> {
    const { pass, findings } = this.#check;
    pass.verifyLine(line);
    if (!line.isWhole) {
      const at = { segment: path.basename(this.#file), offset: line.offset, seq: pass.size };
      findings.add('end.unfinished', at, 'The last line is incomplete.');
    }
    await this.#check.waitForRoom();
  }

  async end(offset: number): Promise<LogReport> {
    const { pass, findings } = this.#check;
    if (pass.uncovered > 0) {
      const at = { segment: path.basename(this.#file), offset, seq: pass.size };
      findings.add('end.unfinished', at, `No head covers the last ${pass.uncovered} events.`);
    }
    if (pass.heads === 0) {
      findings.add('log.empty', {}, 'There is no head.');
    } else if (pass.log !== this.#log) {
      findings.add('head.order', { offset: this.#begin }, `It says that it is log ${this.#log}.`);
    }
    return await this.#check.report(this.#file, offset - this.#begin);
  }
}

/** `null`: the line is not exactly the first one of an export. */
function headerOf({
  buffer,
  start,
  end,
}: LogLine): { readonly key: KeyObject; readonly log: string } | null {
  if (buffer.toString('latin1', start, start + 10) !== '{"export":') return null;
  const line = buffer.toString('utf8', start, end);
  try {
    const value: unknown = JSON.parse(line);
    const inner = fieldOf(value, 'export');
    const pem = fieldOf(inner, 'public_key');
    const log = fieldOf(inner, 'log');
    const exact = canonicalJson({ export: { log, public_key: pem, version: 1 } });
    if (typeof pem !== 'string' || typeof log !== 'string' || exact !== line) return null;
    const key = createPublicKey(pem);
    const isExact = key.asymmetricKeyType === 'ed25519' && publicKeyPem(key) === pem;
    return isExact ? { key, log } : null;
  } catch {
    return null;
  }
}
