/** How the command line speaks to people: on standard error, one sentence at a time. */
import { styleText } from 'node:util';
import type { ExecEnd } from '../client/index.ts';
import { TrlError, errorTable, isTrlError } from '../errors.ts';
import { replaceHiddenCharacters, unicodeEscape } from '../hidden-characters.ts';
import type { CliArguments } from './args.ts';
import { showDuration } from './units.ts';

/** Text of others with control characters made visible, so that it cannot steer a terminal. */
export function escapeControls(text: string): string {
  return text.replaceAll(
    // Controls, C1, line separators and what reorders text.
    /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu,
    (found) => `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}

/** Says a sentence on standard error. */
export function printMessage(sentence: string): void {
  process.stderr.write(`trl: ${escapeControls(sentence)}\n`);
}

/** Says it dimmed, where standard error is a terminal with colours. */
export function printDimmed(sentence: string): void {
  process.stderr.write(`${dimText(`trl: ${escapeControls(sentence)}`)}\n`);
}

/** `NO_COLOR`, `TERM=dumb` and a standard error that is no terminal give the text as it is. */
export function dimText(text: string): string {
  return styleText('dim', text, { stream: process.stderr });
}

/** One value as one line of JSON on standard output; what could steer a terminal is escaped. */
export function printJson(value: unknown): void {
  process.stdout.write(`${escapeControls(JSON.stringify(value))}\n`);
}

/** Lines of columns on standard output; the last column is as wide as it is. */
export function printTable(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, ...rows].map((row) => row.map(escapeControls));
  const widths = header.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)));
  for (const line of lines) {
    const cells = line.map((cell, at) => cell.padEnd(widths[at] ?? 0));
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`);
  }
}

type Flags = Pick<CliArguments, 'has'>;

/**
 * Prints the answer of a verb: as JSON with `--json`, otherwise with `show`. Returns exit code 0.
 */
export function printAnswer(args: Flags, answer: unknown, show: () => void): number {
  if (args.has('json')) printJson(answer);
  else show();
  return 0;
}

/** As {@link printAnswer}, with a table for people. */
export function printRows(
  args: Flags,
  answer: unknown,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): number {
  return printAnswer(args, answer, () => printTable(header, rows));
}

/** Lines on standard output; none if there are none. */
export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
}

/** Reports a failure; answers the exit code. With `json` it is one line on standard output too. */
export function printFailure(error: unknown, json: boolean): number {
  const failure = isTrlError(error)
    ? error
    : new TrlError('INTERNAL_ERROR', error instanceof Error ? error.message : String(error));
  const { code, message, data } = failure;
  if (json) {
    printJson({ error: { code, message }, ...(data === null ? {} : { data }) });
  }
  printMessage(`${message} [${code}]`);
  return errorTable[code].exitCode;
}

/** What the runtime warns of, one line each. */
export function printWarnings({ warnings }: Pick<ExecEnd, 'warnings'>): void {
  for (const warning of warnings) printMessage(`warning: ${warning}`);
}

/** Why the runtime ended a command that nobody cancelled: its exit code alone does not tell. */
const stops: Readonly<Record<NonNullable<ExecEnd['stopped']>, string | null>> = {
  timeout: 'its time-out; --timeout TIME gives it longer',
  'idle-timeout': 'it wrote nothing for as long as --idle-timeout allows',
  cancelled: null,
  'session-destroyed': 'its session was destroyed',
  shutdown: 'the runtime was shut down',
  'redaction-failed': 'its output could not be redacted any more',
  'audit-failed': 'what it did could not be recorded any more',
};

/** KILL, as the kernel sends it for CPU time, and its code for a file that grew too large. */
const killedCode = 137;
const tooLargeCode = 153;

/** Bounds that ended the command, or may have: the kernel does not tell of each. */
function boundsMet({ limits, exit_code: code, stopped }: ExecEnd): string[] {
  // A bound ends a process by a signal.
  if (stopped !== null || code <= 128) return [];
  return limits.flatMap(({ name, value, hit }) => {
    if (name === 'memory_bytes' && hit === true) {
      return [`it met its bound of ${value} bytes of memory`];
    }
    if (name === 'cpu_s' && code === killedCode) {
      return [`killed; it may have met its bound of ${value} s of CPU time`];
    }
    if (name === 'file_bytes' && code === tooLargeCode) {
      return [`it met its bound of ${value} bytes a file`];
    }
    return [];
  });
}

const denialLinesMax = 10;

/** What was refused while it ran, also where it succeeded: a line for each, up to a bound. */
function refusals({ denials = [] }: ExecEnd): string[] {
  const lines = denials.slice(0, denialLinesMax).map(({ host, port, rule }) => {
    const where = port === 0 ? host : `${host}:${port}`;
    return `refused: network to ${where} (${rule})`;
  });
  const more = denials.length - lines.length;
  return more > 0 ? [...lines, `refused: ${more} more; see denials of the receipt`] : lines;
}

/**
 * The receipt in one line, why it was ended, then what the runtime suggests; of changes only where
 * they are not printed beside it.
 */
export function printReceiptSummary(
  end: ExecEnd,
  { interactive, changesAreTold }: { interactive: boolean; changesAreTold: boolean },
): void {
  if (interactive) {
    printDimmed(summary(end));
  }
  const why = end.stopped === null ? null : stops[end.stopped];
  if (why !== null) {
    const offline = end.timed_out && end.sandbox.network === 'off' ? '; it had no network' : '';
    printDimmed(`ended after ${showDuration(end.duration_ms)}: ${why}${offline}`);
  }
  for (const bound of boundsMet(end)) printDimmed(bound);
  for (const refused of refusals(end)) printDimmed(refused);
  // Paths that were restored are printed even if the command itself succeeded.
  if (interactive || end.exit_code !== 0 || end.reverted.length > 0) {
    for (const hint of end.hints) {
      // What waits in the session.
      const isOfChanges = hint.includes(`--session ${end.session_id}`);
      if (!(isOfChanges && changesAreTold)) printDimmed(`hint: ${hint}`);
    }
  }
}

function summary(end: ExecEnd): string {
  const { kind, level, network, share_cache: shared = [] } = end.sandbox;
  const parts = [
    `exit ${end.exit_code}${end.signal === null ? '' : ` (${end.signal})`}`,
    `${end.timed_out ? 'timed out after ' : ''}${showDuration(end.duration_ms)}`,
    kind === 'none' ? 'NO SANDBOX' : `sandbox ${level}`,
    `network ${network}`,
    ...(shared.length === 0 ? [] : [`caches of the host: ${shared.join(', ')}`]),
  ];
  if (end.ended_background > 0) {
    parts.push(`${end.ended_background} background processes ended`);
  }
  if (end.reverted.length > 0) {
    parts.push(`put back: ${end.reverted.join(', ')}`);
  }
  if (end.state_dropped.length > 0) {
    const dropped = end.state_dropped.map(({ name, reason }) => `${name} (${reason})`);
    parts.push(`not carried: ${dropped.join(', ')}`);
  }
  return parts.join(' · ');
}

// Text of others, shown so that it looks like what it is.

/** Every hidden character as `\u{202E}`; line ends too. */
export function escapeHiddenText(
  text: string,
  mark: (escape: string) => string = (each) => each,
): string {
  return replaceHiddenCharacters(text, (found) => mark(unicodeEscape(found)));
}

/**
 * The lines of `text`, escaped, each behind a bar, none longer than `columns`: text that the
 * terminal wrapped by itself could pass for a line of this program.
 */
export function quoteLines(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) =>
    wrap(escapeHiddenText(line), Math.max(20, columns - 4)).map((part, at) => {
      return `${at === 0 ? '  │ ' : '  ┆ '}${part}`;
    }),
  );
}

/** Whatever is not ASCII may be two cells wide, so it is taken to be. */
function wrap(line: string, width: number): string[] {
  const parts: string[] = [];
  let part = '';
  let cells = 0;
  for (const character of line) {
    const wide = character >= ' ' && character <= '~' ? 1 : 2;
    if (cells + wide > width) {
      parts.push(part);
      part = '';
      cells = 0;
    }
    part += character;
    cells += wide;
  }
  return [...parts, part];
}
