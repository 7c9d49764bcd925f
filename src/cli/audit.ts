/** `trl audit log|show`: what was recorded, out of the log's own files. */
import type { AuditLogEntry as Found } from '../audit/read-events.ts';
import { TrlError } from '../errors.ts';
import { readEventStatement } from '../provenance/logged-events.ts';
import type { CliArguments } from './args.ts';
import { printableEventLine, formatEventTime } from './audit-lines.ts';
import { parseTimeFlag, timeFlagHint } from './audit-paths.ts';
import { findNamedEvents, readNewestEvents } from './audit-read.ts';
import { requireSingleWord } from './session.ts';
import { printJson } from './print.ts';
import { countFlagHint, parseCount } from './units.ts';
import { quoteLines, escapeHiddenText } from './escape-text.ts';

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
    else process.stdout.write(`${printableEventLine(found)}\n`);
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
    else process.stdout.write(`${detailsOf(one)}\n`);
  }
  return 0;
}

function envelopeOf(found: readonly Found[]): unknown {
  const statement = found.findLast(({ event }) => event.kind === 'exec.statement');
  if (statement !== undefined) return statement.event.data['envelope'];
  throw new TrlError('EXEC_NOT_FOUND', 'Cannot find the statement: none is recorded of it');
}

/** As `audit.list` answers it. */
function viewOf({ log: id, seq, leaf, event }: Found): object {
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
function detailsOf({ log: id, seq, leaf, event }: Found): string {
  const { kind, at, actor, session, exec } = event;
  const heading = `${id.slice(0, 8)}:${seq}  ${formatEventTime(at)}  ${escapeHiddenText(kind)}`;
  const columns = process.stdout.columns ?? columnsDefault;
  const facts = { actor, session, exec, ...shownData(event), leaf };
  return [heading, ...quoteLines(JSON.stringify(facts, null, 2), columns)].join('\n');
}

/** A statement is shown as what it says. */
function shownData(event: Found['event']): object {
  const statement = readEventStatement(event);
  return statement === null ? { data: event.data } : { statement };
}
