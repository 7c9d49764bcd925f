/** `trl audit prove|export`: parts of the log that are checked without it. */
import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { exportLogLines as linesOfLog } from '../audit/export.ts';
import { readPublicKey } from '../audit/audit-key.ts';
import { listLogDirectories } from '../audit/open-log.ts';
import { proveEvent } from '../audit/prove.ts';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { notWrittenError, writeAuditOutput } from './audit-output.ts';
import { auditDirectory } from './audit-paths.ts';
import { findNamedEvents, eventLogPath } from './audit-read.ts';
import { requireSingleWord } from './session.ts';
import { printMessage, printJson } from './print.ts';

/** Of a command: that its signed statement, else the last event of it, is in the log. */
export async function runAuditProve(args: CliArguments): Promise<number> {
  const word = requireSingleWord(args, 'audit prove', 'log');
  const found = findNamedEvents(word);
  const isStated = found.findLast(({ event }) => event.kind === 'exec.statement');
  const chosen = isStated ?? found.at(-1);
  const directory = chosen === undefined ? auditDirectory() : eventLogPath(chosen);
  const publicKey = readPublicKey(path.join(auditDirectory(), 'key.pub'));
  const proof = chosen && (await proveEvent({ directory, publicKey }, chosen.seq));
  if (proof === undefined || proof === null) {
    const why = 'no signed head covers it, or the log is damaged; see: trl audit verify';
    throw new TrlError('INTERNAL_ERROR', `Cannot prove "${word}": ${why}`);
  }
  writeAuditOutput(args, `${JSON.stringify(proof)}\n`);
  const file = args.text('out');
  if (file !== undefined) {
    printMessage(`check it anywhere: trl audit verify --proof ${file} --key key.pub`);
  }
  return 0;
}

/** All logs of this user, one after the other. */
export async function runAuditExport(args: CliArguments): Promise<number> {
  const directories = listLogDirectories(auditDirectory());
  if (directories.length === 0) {
    const message = `Cannot export: nothing is recorded in "${auditDirectory()}"`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const publicKey = readPublicKey(path.join(auditDirectory(), 'key.pub'));
  const file = args.text('out');
  const fd = file === undefined ? process.stdout.fd : openNew(file);
  let bytes = 0;
  try {
    for (const directory of directories) {
      for (const line of linesOfLog(directory, publicKey)) bytes += writeAll(fd, line);
    }
  } catch (cause) {
    throw notWrittenError(file ?? 'standard output', cause);
  } finally {
    if (file !== undefined) closeSync(fd);
  }
  if (file === undefined) return 0;
  const what = `${bytes} bytes of ${directories.length} logs`;
  if (args.has('json')) printJson({ file: path.resolve(file), bytes, logs: directories.length });
  else printMessage(`${what}; check: trl audit verify --export ${file}`);
  return 0;
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (cause) {
    throw notWrittenError(file, cause);
  }
}

/** Also where a pipe takes a part only. */
function writeAll(fd: number, text: string): number {
  const all = Buffer.from(text);
  for (let done = 0; done < all.length;) {
    try {
      done += writeSync(fd, all, done);
    } catch (error) {
      // A pipe whose reader is slow: nothing else is to be done meanwhile.
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
  return all.length;
}
