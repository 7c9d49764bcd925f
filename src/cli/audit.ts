/** `trl audit log|show`: what was recorded, out of the log's own files. */
import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { readPublicKey } from '../audit/audit-key.ts';
import { exportLogLines } from '../audit/export.ts';
import { listLogDirectories } from '../audit/open-log.ts';
import { proveEvent } from '../audit/prove.ts';
import type { AuditLogEntry } from '../audit/read-events.ts';
import { TrlError } from '../errors.ts';
import { toDot } from '../provenance/graph.ts';
import { CommandGraphBuilder } from '../provenance/graph.ts';
import { readEventStatement } from '../provenance/logged-events.ts';
import type { CliArguments } from './args.ts';
import { formatEventTime, printableEventLine } from './audit-lines.ts';
import {
  auditDirectory,
  eventLogPath,
  findNamedEvents,
  parseTimeFlag,
  readAllEvents,
  readNewestEvents,
  timeFlagHint,
} from './audit-read.ts';
import {
  escapeHiddenText,
  printAnswer,
  printJson,
  printLines,
  printMessage,
  quoteLines,
} from './print.ts';
import { parseExecId } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { countFlagHint, parseCount } from './units.ts';

const limitDefault = 50;
const columnsDefault = 100;

/** Newest last. With `--json` one event a line. */
export async function runAuditLog(args: CliArguments): Promise<number> {
  const filter = {
    exec: args.text('exec'),
    session: args.text('session'),
    actor: args.text('actor'),
    kinds: args.has('kind') ? args.all('kind') : undefined,
    since: args.read('since', parseTimeFlag, timeFlagHint),
    until: args.read('until', parseTimeFlag, timeFlagHint),
  };
  const limit = args.read('limit', parseCount, countFlagHint) ?? limitDefault;
  for (const found of readNewestEvents(filter, limit)) {
    if (args.has('json')) printJson(viewOf(found));
    else printLines([printableEventLine(found)]);
  }
  return 0;
}

/** All of a command, or one event; with `--statement` the signed statement alone. */
export async function runAuditShow(args: CliArguments): Promise<number> {
  const found = findNamedEvents(requireSingleWord(args, 'audit show', 'log'));
  if (args.has('statement')) {
    printJson(envelopeOf(found));
    return 0;
  }
  for (const one of found) {
    if (args.has('json')) printJson(viewOf(one));
    else printLines([detailsOf(one)]);
  }
  return 0;
}

function envelopeOf(found: readonly AuditLogEntry[]): unknown {
  const statement = found.findLast(({ event }) => event.kind === 'exec.statement');
  if (statement !== undefined) return statement.event.data['envelope'];
  throw new TrlError('EXEC_NOT_FOUND', 'Cannot find the statement: none is recorded of it');
}

/** As `audit.list` answers it. */
function viewOf({ log: id, seq, leaf, event }: AuditLogEntry): object {
  const { kind, at, actor, session, exec, data } = event;
  return {
    log: id,
    seq,
    leaf,
    at: isoOf(at),
    kind,
    actor,
    ...(session === undefined ? {} : { session_id: session }),
    ...(exec === undefined ? {} : { exec_id: exec }),
    data,
  };
}

function isoOf(ms: number): string | null {
  const at = new Date(ms);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

/** A heading, and what it says behind bars: nothing of it passes for a line of this program. */
function detailsOf({ log: id, seq, leaf, event }: AuditLogEntry): string {
  const { kind, at, actor, session, exec } = event;
  const heading = `${id.slice(0, 8)}:${seq}  ${formatEventTime(at)}  ${escapeHiddenText(kind)}`;
  const columns = process.stdout.columns ?? columnsDefault;
  const facts = { actor, session, exec, ...shownData(event), leaf };
  return [heading, ...quoteLines(JSON.stringify(facts, null, 2), columns)].join('\n');
}

/** A statement is shown as what it says. */
function shownData(event: AuditLogEntry['event']): object {
  const statement = readEventStatement(event);
  return statement === null ? { data: event.data } : { statement };
}

// `trl audit prove|export`: parts of the log that are checked without it.

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
      for (const line of exportLogLines(directory, publicKey)) bytes += writeAll(fd, line);
    }
  } catch (cause) {
    throw notWrittenError(file ?? 'standard output', cause);
  } finally {
    if (file !== undefined) closeSync(fd);
  }
  if (file === undefined) return 0;
  const what = `${bytes} bytes of ${directories.length} logs`;
  return printAnswer(args, { file: path.resolve(file), bytes, logs: directories.length }, () =>
    printMessage(`${what}; check: trl audit verify --export ${file}`),
  );
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

// What an audit verb writes: to standard output, or to a file that is new.

/** @throws TrlError `INVALID_PARAMS` when there is such a file, or none can be made */
export function writeAuditOutput(args: CliArguments, text: string): void {
  const file = args.text('out');
  if (file === undefined) {
    process.stdout.write(text);
    return;
  }
  try {
    // What is in the log is for nobody else.
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw notWrittenError(file, cause);
  }
}

function notWrittenError(file: string, cause: unknown): TrlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TrlError('INVALID_PARAMS', `Cannot write "${file}": ${why}`, { cause });
}

// `trl audit graph`: what hangs together with a command, in DOT.

/** As many as are looked for in each line faster than the line is read. */
const textsMax = 64;

export async function runAuditGraph(args: CliArguments): Promise<number> {
  const exec = parseExecId(requireSingleWord(args, 'audit graph', 'log'));
  const made = new CommandGraphBuilder(exec);
  for (const { event } of findNamedEvents(exec)) made.addOwnEvent(event);
  const contents = made.contents();
  if (contents.length > 0) {
    const texts = contents.length > textsMax ? undefined : contents;
    for (const { event } of readAllEvents({ kinds: ['exec.changed'], texts })) {
      made.addRelatedEvent(event);
    }
  }
  for (const { event } of readAllEvents({ kinds: ['publication.*'], texts: [exec] })) {
    made.addRelatedEvent(event);
  }
  writeAuditOutput(args, toDot(made.finish(commandsOf(made.commands().slice(1)))));
  return 0;
}

/** What others that are related ran, by exec id. */
function commandsOf(related: readonly string[]): Map<string, string> {
  const wanted = new Set(related);
  const texts = new Map<string, string>();
  if (wanted.size === 0) return texts;
  for (const { event } of readAllEvents({ kinds: ['exec.requested'], texts: related })) {
    const { command } = event.data;
    if (event.exec === undefined || !wanted.delete(event.exec)) continue;
    if (typeof command === 'string') texts.set(event.exec, command);
    if (wanted.size === 0) break;
  }
  return texts;
}
