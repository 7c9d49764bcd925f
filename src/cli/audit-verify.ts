/** `trl audit verify`: that the log is what was written, by nothing but its files and its key. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { KeyObject } from 'node:crypto';
import { auditKeyIdOf, readPublicKey } from '../audit/audit-key.ts';
import type { LogReport } from '../audit/log-check.ts';
import { verifyLogs, type LogsReport } from '../audit/verify.ts';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { extractHeads, saveSeenHeads, readSeenHeads, type SeenHeads } from './audit-heads.ts';
import { auditDirectory, seenHeadsFile } from './audit-paths.ts';
import { printMessage, printJson } from './print.ts';
import { escapeHiddenText } from './escape-text.ts';

const fileBytesMax = 64 * 1024 * 1024;

/** Exit code 0 when nothing was found, else 1. */
export async function runAuditVerify(args: CliArguments): Promise<number> {
  const [proof, file] = [args.text('proof'), args.text('export')];
  if (proof === undefined && file === undefined) return verifyHere(args);
  const { verifyExportFile, verifyProofFile } = await import('./audit-verify-offline.ts');
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

/** Another key than before: whoever can write the log can sign one of their own. */
function keyProblems({ key }: SeenHeads, publicKey: KeyObject): string[] {
  if (key === null || key === auditKeyIdOf(publicKey)) return [];
  const why = 'whoever replaced it can have written a log of their own';
  return [`The key is not the one of the last check (${key.slice(0, 16)}…): ${why}.`];
}

/** On standard output what was found, on standard error what that means. */
export function printVerifyReport(
  { logs, findings }: LogsReport,
  problems: readonly string[],
  { isGood, heads }: { readonly isGood: boolean; readonly heads: number },
): void {
  const lines = [...problems, ...findings.map(({ text }) => text)];
  for (const text of lines) process.stdout.write(`FOUND  ${escapeHiddenText(text)}\n`);
  for (const log of logs) tellLog(log);
  const against = heads === 0 ? 'no head was seen before' : `held against ${heads} heads`;
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

export function verifyReportJson(
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
export function readArgumentFile(file: string): string {
  try {
    const text = readFileSync(file === '-' ? 0 : file);
    if (text.length > fileBytesMax) throw new Error('it is too large');
    return text.toString();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TrlError('INVALID_PARAMS', `Cannot read "${file}": ${why}`, { cause });
  }
}
