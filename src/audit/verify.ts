/**
 * Checks every byte of a log: chain, tree, heads and signatures, in one pass and bounded memory. It
 * trusts nothing but the public key, and heads that were kept elsewhere.
 */
import { closeSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { LogCheck, findMissingLogs, type LogCheckOptions, type LogReport } from './log-check.ts';
import type { AuditFinding } from './audit-findings.ts';
import { readLogLines } from './line-reader.ts';
import { listLogDirectories } from './open-log.ts';
import {
  logFileNames,
  hasCode,
  listNamesIn,
  openForReading,
  listSegments,
  type LogSegment,
} from './segments.ts';
import { withOpenFile } from './log-tail.ts';
import { checkLogFiles } from './verify-files.ts';

export type { LogReport } from './log-check.ts';

export interface VerifyLogOptions extends LogCheckOptions {
  /** Of one log, or `audit` for all of them. */
  readonly directory: string;
  /**
   * How long to wait for the head of a group that a runtime may be writing, in milliseconds.
   * Default: 500; 0 where nobody writes.
   */
  readonly headWaitMs?: number | undefined;
}

export interface LogsReport {
  readonly isGood: boolean;
  readonly logs: readonly LogReport[];
  /** Of logs that are not there, and of heads that another key signed. */
  readonly findings: readonly AuditFinding[];
}

const lineBytesMax = limits.auditEventBytes.max + 1024;
const defaultPatienceMs = 500;

/** Every log of an `audit` directory. */
export async function verifyLogs(options: VerifyLogOptions): Promise<LogsReport> {
  const logs: LogReport[] = [];
  for (const directory of listLogDirectories(options.directory)) {
    if (isUnbegun(directory)) continue;
    logs.push(await verifyLog({ ...options, directory }));
  }
  const findings = findMissingLogs(options, logs);
  return { isGood: findings.length === 0 && logs.every(({ isGood }) => isGood), logs, findings };
}

/** A process took it, and ended before it wrote anything: nobody was told of an event in it. */
function isUnbegun(directory: string): boolean {
  try {
    const names = listNamesIn(directory);
    const isEmpty = (name: string): boolean => statSync(path.join(directory, name)).size === 0;
    return (
      names.includes(logFileNames.lock) &&
      names.every((name) => unbegun.has(name) && (name !== logFileNames.nodes || isEmpty(name)))
    );
  } catch {
    return false;
  }
}

const unbegun: ReadonlySet<string> = new Set([
  logFileNames.lock,
  logFileNames.nodes,
  logFileNames.reserve,
  `${logFileNames.reserve}.new`,
]);

/** A directory without a log, or one that cannot be read, is a finding and no error. */
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
      const patienceMs = isLast ? (options.headWaitMs ?? defaultPatienceMs) : 0;
      bytes += await readSegment(segment, check, patienceMs);
    }
    checkLogFiles(directory, pass.repaired, findings);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EIO', 'ELOOP', 'ENOENT', 'EISDIR', 'EPERM')) throw error;
    findings.add('log.unreadable', {}, `It cannot be read: ${String(error)}.`);
  }
  return await check.report(directory, bytes);
}

/** Its length in bytes. */
async function readSegment(
  segment: LogSegment,
  check: LogCheck,
  patienceMs: number,
): Promise<number> {
  const { pass } = check;
  const name = path.basename(segment.file);
  pass.beginSegment(name, segment);
  let position = 0;
  let length = 0;
  for (let waited = 0, step = 1; ; waited += step, step *= 2) {
    length = withOpenFile(segment.file, (_, size) => size);
    position = await readLines(segment.file, { position, length }, check);
    // A segment has no line yet for the moment in which it is begun.
    const isEnd = length > 0 && position === length && pass.uncovered === 0;
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
  check: LogCheck,
): Promise<number> {
  const fd = openForReading(file);
  try {
    let reached = position;
    for (const line of readLogLines(fd, position, length, lineBytesMax)) {
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
