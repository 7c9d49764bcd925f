/** `trl audit prove|export`: parts of the log that are checked without it. */
import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { exportLog as linesOfLog } from '../audit/export.ts';
import { readPublicKey } from '../audit/key.ts';
import { logDirectories } from '../audit/logs.ts';
import { proveEvent } from '../audit/prove.ts';
import { TrlError } from '../errors.ts';
import type { Args } from './args.ts';
import { notWritten, writeOut } from './audit-out.ts';
import { auditDirectory } from './audit-place.ts';
import { eventsOf, placeOf } from './audit-read.ts';
import { only } from './session.ts';
import { say, sayJson } from './show.ts';

/** Of a command: that its signed statement, else the last event of it, is in the log. */
export async function prove(args: Args): Promise<number> {
  const word = only(args, 'audit prove', 'log');
  const found = eventsOf(word);
  const isStated = found.findLast(({ event }) => event.kind === 'exec.statement');
  const chosen = isStated ?? found.at(-1);
  const directory = chosen === undefined ? auditDirectory() : placeOf(chosen);
  const publicKey = readPublicKey(path.join(auditDirectory(), 'key.pub'));
  const proof = chosen && (await proveEvent({ directory, publicKey }, chosen.seq));
  if (proof === undefined || proof === null) {
    const why = 'no signed head covers it, or the log is damaged; see: trl audit verify';
    throw new TrlError('INTERNAL_ERROR', `Cannot prove "${word}": ${why}`);
  }
  writeOut(args, `${JSON.stringify(proof)}\n`);
  const file = args.text('out');
  if (file !== undefined) say(`check it anywhere: trl audit verify --proof ${file} --key key.pub`);
  return 0;
}

/** All logs of this user, one after the other. */
export async function exportLog(args: Args): Promise<number> {
  const directories = logDirectories(auditDirectory());
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
    throw notWritten(file ?? 'standard output', cause);
  } finally {
    if (file !== undefined) closeSync(fd);
  }
  if (file === undefined) return 0;
  const what = `${bytes} bytes of ${directories.length} logs`;
  if (args.has('json')) sayJson({ file: path.resolve(file), bytes, logs: directories.length });
  else say(`${what}; check: trl audit verify --export ${file}`);
  return 0;
}

function openNew(file: string): number {
  try {
    return openSync(file, 'wx', 0o600);
  } catch (cause) {
    throw notWritten(file, cause);
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
