/**
 * Checks every byte of a log: chain, tree, heads and signatures, in one pass and bounded memory. It
 * trusts nothing but the public key, and heads that were kept elsewhere.
 */
import { closeSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { limits } from '../limits.ts';
import { Check, missingOf, type CheckOptions, type LogReport } from './check.ts';
import type { Finding } from './findings.ts';
import { linesOf } from './lines.ts';
import { logDirectories } from './logs.ts';
import { fileNames, hasCode, namesIn, openRead, segmentsOf, type Segment } from './segments.ts';
import { withFile } from './tail.ts';
import { checkFiles } from './verify-files.ts';

export type { LogReport } from './check.ts';

export interface VerifyOptions extends CheckOptions {
  /** Of one log, or `audit` for all of them. */
  readonly directory: string;
  /**
   * How long to wait for the head of a group that a runtime may be writing, in milliseconds.
   * Default: 500; 0 where nobody writes.
   */
  readonly patienceMs?: number | undefined;
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
    if (isUnbegun(directory)) continue;
    logs.push(await verifyLog({ ...options, directory }));
  }
  const findings = missingOf(options, logs);
  return { isGood: findings.length === 0 && logs.every(({ isGood }) => isGood), logs, findings };
}

/** A process took it, and ended before it wrote anything: nobody was told of an event in it. */
function isUnbegun(directory: string): boolean {
  try {
    const names = namesIn(directory);
    const isEmpty = (name: string): boolean => statSync(path.join(directory, name)).size === 0;
    return (
      names.includes(fileNames.lock) &&
      names.every((name) => unbegun.has(name) && (name !== fileNames.nodes || isEmpty(name)))
    );
  } catch {
    return false;
  }
}

const unbegun: ReadonlySet<string> = new Set([
  fileNames.lock,
  fileNames.nodes,
  fileNames.reserve,
  `${fileNames.reserve}.new`,
]);

/** A directory without a log, or one that cannot be read, is a finding and no error. */
export async function verifyLog(options: VerifyOptions): Promise<LogReport> {
  const { directory } = options;
  const check = new Check(options);
  const { findings, pass } = check;
  let bytes = 0;
  try {
    const segments = segmentsOf(directory);
    if (segments.length === 0) findings.add('log.empty', {}, 'There is no segment.');
    for (const segment of segments) {
      const isLast = segment === segments.at(-1);
      const patienceMs = isLast ? (options.patienceMs ?? defaultPatienceMs) : 0;
      bytes += await readSegment(segment, check, patienceMs);
    }
    checkFiles(directory, pass.repaired, findings);
  } catch (error) {
    if (!hasCode(error, 'EACCES', 'EIO', 'ELOOP', 'ENOENT', 'EISDIR', 'EPERM')) throw error;
    findings.add('log.unreadable', {}, `It cannot be read: ${String(error)}.`);
  }
  return await check.report(directory, bytes);
}

/** Its length in bytes. */
async function readSegment(segment: Segment, check: Check, patienceMs: number): Promise<number> {
  const { pass } = check;
  const name = path.basename(segment.file);
  pass.begin(name, segment);
  let position = 0;
  let length = 0;
  for (let waited = 0, step = 1; ; waited += step, step *= 2) {
    length = withFile(segment.file, (_, size) => size);
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
  check: Check,
): Promise<number> {
  const fd = openRead(file);
  try {
    let reached = position;
    for (const line of linesOf(fd, position, length, lineBytesMax)) {
      const bytes = line.end - line.start;
      if (!line.isWhole && bytes <= lineBytesMax) return line.offset;
      check.pass.line(line);
      await check.room();
      reached = line.offset + bytes + (line.isWhole ? 1 : 0);
    }
    return reached;
  } finally {
    closeSync(fd);
  }
}
