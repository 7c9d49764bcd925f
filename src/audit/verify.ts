/**
 * Checks every byte of a log: chain, tree, heads and signatures, in one pass and bounded memory. It
 * trusts only the public key, and heads that were saved elsewhere.
 */
import { hash } from 'node:crypto';
import { closeSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { listNamesIn, systemErrorCode } from '../segment-files.ts';
import type { AuditFinding, AuditFindings } from './audit-findings.ts';
import {
  lineBytesMax,
  openForReading,
  readByteRange,
  readLogLines,
  withOpenFile,
} from './line-reader.ts';
import { LogCheck, findMissingLogs, type LogCheckOptions, type LogReport } from './log-check.ts';
import { listSegments, logFileNames, logSegmentPattern, type LogSegment } from './log-files.ts';
import { listLogDirectories } from './open-log.ts';
import type { TornWrite } from './store.ts';

export interface VerifyLogOptions extends LogCheckOptions {
  /** Of one log, or `audit` for all of them. */
  readonly directory: string;
  /**
   * How long to wait for the head of a group that a runtime may be writing, in milliseconds.
   * Default: 500; 0 when no runtime writes.
   */
  readonly headWaitMs?: number | undefined;
}

export interface LogsReport {
  readonly isGood: boolean;
  readonly logs: readonly LogReport[];
  /** About missing logs, and heads that another key signed. */
  readonly findings: readonly AuditFinding[];
}

const defaultHeadWaitMs = 500;

/** Every log of an `audit` directory. */
export async function verifyLogs(options: VerifyLogOptions): Promise<LogsReport> {
  const logs: LogReport[] = [];
  for (const directory of listLogDirectories(options.directory)) {
    if (isUnused(directory)) continue;
    logs.push(await verifyLog({ ...options, directory }));
  }
  const findings = findMissingLogs(options, logs);
  return { isGood: findings.length === 0 && logs.every(({ isGood }) => isGood), logs, findings };
}

/** A process locked it, and ended before it wrote an event. */
function isUnused(directory: string): boolean {
  try {
    const names = listNamesIn(directory);
    const isEmpty = (name: string): boolean => statSync(path.join(directory, name)).size === 0;
    return (
      names.includes(logFileNames.lock) &&
      names.every(
        (name) => unusedLogNames.has(name) && (name !== logFileNames.nodes || isEmpty(name)),
      )
    );
  } catch {
    return false;
  }
}

const unusedLogNames: ReadonlySet<string> = new Set([
  logFileNames.lock,
  logFileNames.nodes,
  logFileNames.reserve,
  `${logFileNames.reserve}.new`,
]);

/** A directory without a log, or one that cannot be read, is a finding, not an error. */
export async function verifyLog(options: VerifyLogOptions): Promise<LogReport> {
  const { directory } = options;
  const check = new LogCheck(options);
  const { findings, pass } = check;
  let bytes = 0;
  try {
    const segments = listSegments(directory);
    if (segments.length === 0) findings.add('log.empty', {}, 'There is no segment.');
    for (const segment of segments) {
      const isLast = segment === segments.at(-1);
      const headWaitMs = isLast ? (options.headWaitMs ?? defaultHeadWaitMs) : 0;
      bytes += await readSegment(segment, check, headWaitMs);
    }
    checkLogFiles(directory, pass.repaired, findings);
  } catch (error) {
    if (!unreadableCodes.has(systemErrorCode(error))) throw error;
    findings.add('log.unreadable', {}, `It cannot be read: ${String(error)}.`);
  }
  return await check.report(directory, bytes);
}

const unreadableCodes: ReadonlySet<string | null> = new Set(
  'EACCES EIO ELOOP ENOENT EISDIR EPERM'.split(' '),
);

/** Returns its length in bytes. */
async function readSegment(
  segment: LogSegment,
  check: LogCheck,
  headWaitMs: number,
): Promise<number> {
  const { pass } = check;
  const name = path.basename(segment.file);
  pass.beginSegment(name, segment);
  let position = 0;
  let length = 0;
  for (let waited = 0, step = 1; ; waited += step, step *= 2) {
    length = withOpenFile(segment.file, (_, size) => size);
    position = await readLines(segment.file, { position, length }, check);
    // A segment that was just created has no line yet.
    const isEnd = length > 0 && position === length && pass.uncovered === 0;
    if (isEnd || pass.findings.count > 0 || waited >= headWaitMs) break;
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

/** Checks whole lines up to `length`; returns where they end. */
async function readLines(
  file: string,
  { position, length }: { readonly position: number; readonly length: number },
  check: LogCheck,
): Promise<number> {
  const fd = openForReading(file);
  try {
    let reached = position;
    for (const line of readLogLines(fd, position, length)) {
      const bytes = line.end - line.start;
      if (!line.isWhole && bytes <= lineBytesMax) return line.offset;
      check.pass.verifyLine(line);
      await check.waitForRoom();
      reached = line.offset + bytes + (line.isWhole ? 1 : 0);
    }
    return reached;
  } finally {
    closeSync(fd);
  }
}

const logNames: ReadonlySet<string> = new Set([
  ...Object.values(logFileNames),
  `${logFileNames.reserve}.new`,
  // The lock is an SQLite file.
  `${logFileNames.lock}-journal`,
]);

/**
 * Checks the files next to the segments.
 *
 * @param repaired torn writes that were preserved, according to the log
 */
function checkLogFiles(
  directory: string,
  repaired: readonly TornWrite[],
  findings: AuditFindings,
): void {
  for (const name of listNamesIn(directory)) {
    if (logNames.has(name) || logSegmentPattern.test(name)) continue;
    findings.add('file.foreign', {}, `"${name}" is no file of a log.`);
  }
  const names = new Set(listNamesIn(path.join(directory, logFileNames.torn)));
  for (const { file, sha256, seq } of repaired) {
    const name = path.basename(file);
    const found = [name, name.replace(/\.bin$/, '.new')].find((one) => names.has(one));
    if (found === undefined) {
      findings.add('torn.missing', { seq }, `"${file}", a preserved torn write, is missing.`);
    } else if (digest(path.join(directory, logFileNames.torn, found)) !== sha256) {
      findings.add('torn.changed', { seq }, `"${file}" is not the torn write that was preserved.`);
    }
    names.delete(found ?? '');
  }
  for (const name of names) {
    // The next runtime records it.
    if (/^\d{16}-[0-9a-f]{64}\.new$/.test(name)) continue;
    findings.add('file.foreign', {}, `"${logFileNames.torn}/${name}" is in no event.`);
  }
}

const digest = (file: string): string =>
  withOpenFile(file, (fd, length) => hash('sha256', readByteRange(fd, 0, length), 'hex'));
