/** `trl audit log|show`: what was recorded, out of the log's own files. */
import type { FoundEvent as Found } from '../audit/read.ts';
import { TrlError } from '../errors.ts';
import { statementIn } from '../provenance/told.ts';
import type { Args } from './args.ts';
import { lineOf, timeOf } from './audit-lines.ts';
import { parseTime, timeWanted } from './audit-place.ts';
import { eventsOf, newestEvents } from './audit-read.ts';
import { only } from './session.ts';
import { sayJson } from './show.ts';
import { countWanted, parseCount } from './units.ts';
import { barred, visible } from './visible.ts';

const limitDefault = 50;
const columnsDefault = 100;

/** Newest last. With `--json` one event a line. */
export async function log(args: Args): Promise<number> {
  const filter = {
    exec: args.text('exec'),
    session: args.text('session'),
    actor: args.text('actor'),
    kinds: args.has('kind') ? args.all('kind') : undefined,
    since: args.read('since', parseTime, timeWanted),
    until: args.read('until', parseTime, timeWanted),
  };
  const limit = args.read('limit', parseCount, countWanted) ?? limitDefault;
  for (const found of newestEvents(filter, limit)) {
    if (args.has('json')) sayJson(viewOf(found));
    else process.stdout.write(`${lineOf(found)}\n`);
  }
  return 0;
}

/** All of a command, or one event; with `--statement` the signed statement alone. */
export async function show(args: Args): Promise<number> {
  const found = eventsOf(only(args, 'audit show', 'log'));
  if (args.has('statement')) {
    sayJson(envelopeOf(found));
    return 0;
  }
  for (const one of found) {
    if (args.has('json')) sayJson(viewOf(one));
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
  const heading = `${id.slice(0, 8)}:${seq}  ${timeOf(at)}  ${visible(kind)}`;
  const columns = process.stdout.columns ?? columnsDefault;
  const facts = { actor, session, exec, ...shownData(event), leaf };
  return [heading, ...barred(JSON.stringify(facts, null, 2), columns)].join('\n');
}

/** A statement is shown as what it says. */
function shownData(event: Found['event']): object {
  const statement = statementIn(event);
  return statement === null ? { data: event.data } : { statement };
}
