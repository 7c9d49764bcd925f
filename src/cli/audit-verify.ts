/** `trl audit verify`: that the log is what was written, by nothing but its files and its key. */
import { randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { auditKeyIdOf, readPublicKey } from '../audit/audit-key.ts';
import { verifyExport } from '../audit/export.ts';
import { checkEventProof } from '../audit/prove.ts';
import { parseNote } from '../audit/signed-note.ts';
import { verifyLogs } from '../audit/verify.ts';
import type { LogReport } from '../audit/log-check.ts';
import type { LogsReport } from '../audit/verify.ts';
import { TrlError } from '../errors.ts';
import { jsonField } from '../provenance/logged-events.ts';
import type { CliArguments } from './args.ts';
import { printableEventLine } from './audit-lines.ts';
import { auditDirectory, seenHeadsFile } from './audit-read.ts';
import { escapeHiddenText, printJson, printMessage } from './print.ts';

const fileBytesMax = 64 * 1024 * 1024;

/** Exit code 0 when nothing was found, else 1. */
export async function runAuditVerify(args: CliArguments): Promise<number> {
  const [proof, file] = [args.text('proof'), args.text('export')];
  if (proof === undefined && file === undefined) return verifyHere(args);
  const given = { key: keyOf(args), json: args.has('json') };
  if (file === undefined) return verifyProofFile(proof ?? '', given);
  return verifyExportFile(file, { ...given, heads: args.all('head').flatMap(headsOf) });
}

async function verifyHere(args: CliArguments): Promise<number> {
  const directory = auditDirectory();
  const given = args.all('head').flatMap(headsOf);
  const seen = readSeenHeads(seenHeadsFile());
  if (!existsSync(path.join(directory, 'logs')) && given.length === 0 && seen.heads.size === 0) {
    printMessage(`nothing is recorded: there is no log in "${directory}"`);
    if (args.has('json')) printJson({ good: true, logs: [], findings: [] });
    return 0;
  }
  const keyFile = path.join(directory, 'key.pub');
  const chosen = keyOf(args);
  if (chosen === null && !existsSync(keyFile)) {
    return tellLost(args, given.length + seen.heads.size);
  }
  const publicKey = chosen ?? readPublicKey(keyFile);
  const heads = [...given, ...seen.heads.values()];
  const report = await verifyLogs({ directory, publicKey, heads });
  const problems = keyProblems(seen, publicKey);
  const isGood = report.isGood && problems.length === 0;
  if (args.has('json')) printJson(verifyReportJson(report, problems, isGood));
  else printVerifyReport(report, problems, { isGood, heads: heads.length });
  if (isGood) {
    const notes = report.logs.map(({ head }) => head).filter((head) => head !== null);
    saveSeenHeads(seenHeadsFile(), auditKeyIdOf(publicKey), notes);
  }
  return isGood ? 0 : 1;
}

/** Heads were kept, and there is not even a key to check them with. */
function tellLost(args: CliArguments, heads: number): number {
  const kept = `${heads} heads of its logs were kept`;
  const text = `There is no key in "${auditDirectory()}", and ${kept}.`;
  if (args.has('json')) {
    printJson({ good: false, findings: [{ kind: 'log.missing', text }], logs: [] });
  } else {
    process.stdout.write(`FOUND  ${escapeHiddenText(text)}\n`);
    printMessage('the log is NOT as it was written');
  }
  return 1;
}

/** A different key than before: anyone who can write the log can sign a log of their own. */
function keyProblems({ key }: SeenHeads, publicKey: KeyObject): string[] {
  if (key === null || key === auditKeyIdOf(publicKey)) return [];
  const why = 'anyone who replaced it can have written a log of their own';
  return [`The key is not the one of the last check (${key.slice(0, 16)}…): ${why}.`];
}

/** On standard output what was found, on standard error what that means. */
function printVerifyReport(
  { logs, findings }: LogsReport,
  problems: readonly string[],
  { isGood, heads }: { readonly isGood: boolean; readonly heads: number },
): void {
  const lines = [...problems, ...findings.map(({ text }) => text)];
  for (const text of lines) process.stdout.write(`FOUND  ${escapeHiddenText(text)}\n`);
  for (const log of logs) tellLog(log);
  const against = heads === 0 ? 'no head was seen before' : `checked against ${heads} heads`;
  printMessage(
    isGood ? `the log is as it was written; ${against}` : 'the log is NOT as it was written',
  );
}

function tellLog(report: LogReport): void {
  const { log, events, heads, isGood, findings, findingCount, repaired } = report;
  const name = `log ${log ?? path.basename(report.directory)}`;
  const state = isGood ? 'good' : `${findingCount} findings`;
  process.stdout.write(`${name}: ${events} events, ${heads} heads, ${state}\n`);
  for (const { segment, offset, seq, text } of findings) {
    const place = [
      segment,
      offset === null ? null : `byte ${offset}`,
      seq === null ? null : `event ${seq}`,
    ];
    const where = place.filter((part) => part !== null).join(', ');
    process.stdout.write(
      `  FOUND  ${escapeHiddenText(text)}${where === '' ? '' : ` (${where})`}\n`,
    );
  }
  if (findingCount > findings.length) {
    process.stdout.write(`  and ${findingCount - findings.length} more\n`);
  }
  for (const { file, bytes, seq } of repaired) {
    const what = `${bytes} bytes that a crash left unfinished before event ${seq}`;
    process.stdout.write(`  repaired: ${what}, kept in ${escapeHiddenText(file)}\n`);
  }
}

function verifyReportJson(
  { logs, findings }: LogsReport,
  problems: readonly string[],
  isGood: boolean,
): object {
  return {
    good: isGood,
    findings: [
      ...problems.map((text) => ({ kind: 'key.changed', text })),
      ...findings.map(({ kind, text }) => ({ kind, text })),
    ],
    logs: logs.map((log) => ({
      log: log.log,
      directory: log.directory,
      events: log.events,
      heads: log.heads,
      bytes: log.bytes,
      head: log.head,
      good: log.isGood,
      findings: log.findings,
      finding_count: log.findingCount,
      repaired: log.repaired,
    })),
  };
}

function keyOf(args: CliArguments): KeyObject | null {
  const file = args.text('key');
  return file === undefined ? null : readPublicKey(file);
}

/** A file that holds heads, or a head itself. */
function headsOf(word: string): string[] {
  const isText = word.includes('\n') || word.trimStart().startsWith('{');
  const heads = extractHeads(isText ? word : readArgumentFile(word));
  if (heads.length > 0) return heads;
  const shown = isText ? 'the text' : `"${word}"`;
  const wanted = 'a signed head, or a receipt with one';
  throw new TrlError('INVALID_PARAMS', `Cannot read the flag --head: ${shown} is not ${wanted}`);
}

/** @throws TrlError `INVALID_PARAMS` */
function readArgumentFile(file: string): string {
  try {
    const text = readFileSync(file === '-' ? 0 : file);
    if (text.length > fileBytesMax) throw new Error('it is too large');
    return text.toString();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": ${why}`, { cause });
  }
}

// `trl audit verify --proof` and `--export`: what was taken out of a log, checked without it.

interface Given {
  /** `null`: the one that the file brings along, which then has to be known otherwise. */
  readonly key: KeyObject | null;
  readonly json: boolean;
}

/** Exit code 0 when the event is what a head covers that the key signed, else 1. */
function verifyProofFile(file: string, { key, json }: Given): number {
  const proof = parsed(file);
  const report = checkEventProof(proof, key ?? undefined);
  const { isGood, reason, event, head } = report;
  if (json) printJson({ good: isGood, reason, key: report.key, event, log: head?.log ?? null });
  if (!isGood || event === null || head === null) {
    if (!json) printMessage(`the proof is NOT good: ${reason ?? ''}`);
    return 1;
  }
  if (json) return 0;
  process.stdout.write(`${printableEventLine({ log: head.log, seq: seqOf(proof), event })}\n`);
  printMessage(
    `the event is in log ${head.log}, whose head over ${head.size} events key ${report.key} signed`,
  );
  if (key === null) printMessage(unknownKey);
  return 0;
}

/** Exit code 0 when nothing was found, else 1. */
async function verifyExportFile(
  file: string,
  { key, json, heads }: Given & { readonly heads: readonly string[] },
): Promise<number> {
  // It says in words what it cannot read.
  const report = await verifyExport({ file, publicKey: key ?? undefined, heads }).catch(
    (cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": ${why}`, { cause });
    },
  );
  if (json) printJson(verifyReportJson(report, [], report.isGood));
  else printVerifyReport(report, [], { isGood: report.isGood, heads: heads.length });
  if (!json && key === null) printMessage(unknownKey);
  return report.isGood ? 0 : 1;
}

const unknownKey =
  'it was checked with the key that it brings along: compare it, or name yours with --key';

function parsed(file: string): unknown {
  try {
    return JSON.parse(readArgumentFile(file));
  } catch (cause) {
    if (cause instanceof TrlError) throw cause;
    throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": it is no JSON`, { cause });
  }
}

function seqOf(proof: unknown): number {
  const seq = jsonField(proof, 'seq');
  return typeof seq === 'number' ? seq : 0;
}

// Heads of logs that were seen before, so that an end that is cut off is found:
//
//   {"version":1,"key":"<key id>","heads":{"<log>":{"size":42,"head":"<signed note>"}}}
//
// What a check finds good is remembered, and never replaced by a shorter log.

interface SeenHeads {
  /** Id of the key that signed them; `null`: none were seen. */
  readonly key: string | null;
  /** Signed notes by the id of their log. */
  readonly heads: ReadonlyMap<string, string>;
}

/** @throws TrlError `INVALID_PARAMS` for a file that is none: what was seen must not be lost */
function readSeenHeads(file: string): SeenHeads {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return { key: null, heads: new Map() };
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
  try {
    const value: unknown = JSON.parse(text);
    const key = jsonField(value, 'key');
    const heads = jsonField(value, 'heads');
    if (jsonField(value, 'version') !== 1 || typeof heads !== 'object' || heads === null) {
      throw new Error('it is of another version');
    }
    const notes = Object.entries(heads).map(([log, seen]: [string, unknown]) => {
      const note = jsonField(seen, 'head');
      if (typeof note !== 'string' || parseNote(note)?.checkpoint.log !== log) {
        throw new Error(`what it holds of log ${log} is no head of it`);
      }
      return [log, note] as const;
    });
    return { key: typeof key === 'string' ? key : null, heads: new Map(notes) };
  } catch (error) {
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
}

/** Keeps the newer head of each log. @throws TrlError `INVALID_PARAMS` when it cannot be written */
function saveSeenHeads(file: string, key: string, notes: readonly string[]): void {
  const heads = new Map(readSeenHeads(file).heads);
  for (const note of notes) {
    const found = parseNote(note)?.checkpoint;
    if (found === undefined) continue;
    const known = parseNote(heads.get(found.log) ?? '')?.checkpoint.size ?? -1;
    if (found.size > known) heads.set(found.log, note);
  }
  const kept = [...heads].map(([log, head]) => [
    log,
    { size: parseNote(head)?.checkpoint.size ?? 0, head },
  ]);
  const text = `${JSON.stringify({ version: 1, key, heads: Object.fromEntries(kept) })}\n`;
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const fd = openSync(draft, 'wx', 0o600);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw unusable(file, error instanceof Error ? error.message : String(error));
  }
}

/**
 * The signed notes in a text: a note itself, or JSON that holds one under `audit.head`, as receipts
 * do, or under `head` or `checkpoint`; of JSON lines each.
 */
export function extractHeads(text: string): string[] {
  if (parseNote(text) !== null) return [text];
  // A shell takes the last line end of what it puts in place of a command.
  if (parseNote(`${text}\n`) !== null) return [`${text}\n`];
  return [text, ...text.split('\n')].flatMap((part) => notesOf(parsedOrNull(part)));
}

function notesOf(value: unknown): string[] {
  const receipt = jsonField(value, 'audit');
  const found = [
    jsonField(receipt, 'head'),
    jsonField(value, 'head'),
    jsonField(value, 'checkpoint'),
  ];
  return found
    .filter((note) => typeof note === 'string')
    .filter((note) => parseNote(note) !== null);
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unusable(file: string, reason: string): TrlError {
  const message = `Cannot use the heads that were seen before, "${file}": ${reason}`;
  return new TrlError('INVALID_PARAMS', message);
}
