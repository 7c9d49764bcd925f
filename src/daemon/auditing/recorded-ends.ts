/**
 * Ends of commands according to the log. The runtime writes its own records a moment after the log.
 * A daemon that was killed in between leaves commands that are open in its records, while the log
 * has their ends and signed statements. The next daemon takes the ends from the log.
 */
import * as z from 'zod/mini';
import type { AuditEvent } from '../../audit/event.ts';
import { readLogEvents, type AuditLogEntry } from '../../audit/read-events.ts';
import type { SnapshotPair } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import { errorTable, TrlError, type ErrorCode } from '../../errors.ts';
import { receiptChangesSchema, type ChangeView } from '../../api/changes.ts';
import type { AuditMark } from '../../execution.ts';

const kinds = ['exec.ended', 'exec.failed', 'exec.changed', 'exec.statement'] as const;
/** Tolerance for clocks that were set back, in ms. */
const clockSlackMs = 3_600_000;

export interface RecordedEnd {
  readonly kinds: ReadonlySet<AuditEvent['kind']>;
  /** Position of the last event. */
  readonly mark: AuditMark;
  /** Why the command must not be reported as ended; `null`: it ended. */
  readonly failure: TrlError | null;
  /** Snapshot of the workspace, as signed. */
  readonly snapshot: Pick<SnapshotPair, 'before' | 'after'> | null;
  /** The changes that the event names, and how many it omits; `null`: it contains no changes. */
  readonly changes: { readonly views: readonly ChangeView[]; readonly omitted: number } | null;
}

export interface SignedLogDirectory {
  readonly directory: string;
  /** The log's newest signed head. */
  readonly head: string;
}

/** @param since Unix ms; none of the commands ended earlier */
export function readRecordedEnds(
  logs: readonly SignedLogDirectory[],
  execs: ReadonlySet<string>,
  since: number,
): Map<ExecId, RecordedEnd> {
  const ends = new Map<ExecId, RecordedEnd>();
  for (const { directory, head } of logs) {
    for (const found of readLogEvents(directory, { kinds }, 'newest')) {
      if (found.event.at < since - clockSlackMs) break;
      const { exec } = found.event;
      if (exec === undefined || !execs.has(exec)) continue;
      ends.set(exec, withEvent(ends.get(exec), found, head));
    }
  }
  return ends;
}

/** Events arrive from the last to the first. */
function withEvent(
  known: RecordedEnd | undefined,
  found: AuditLogEntry,
  head: string,
): RecordedEnd {
  const { kind, data } = found.event;
  const { log, seq, leaf } = found;
  const kinds = new Set(known?.kinds).add(kind);
  const mark = known?.mark ?? { log, seq, leaf, head };
  const failure = kind === 'exec.failed' ? failureIn(data) : (known?.failure ?? null);
  const snapshot = known?.snapshot ?? snapshotIn(found.event);
  return {
    kinds,
    mark,
    failure,
    snapshot,
    changes: known?.changes ?? changesIn(found.event),
  };
}

const isCode = (code: unknown): code is ErrorCode =>
  typeof code === 'string' && Object.hasOwn(errorTable, code);

const failureIn = ({ code, message }: AuditEvent['data']): TrlError =>
  new TrlError(isCode(code) ? code : 'BACKEND_UNAVAILABLE', failureText(message));

const failureText = (message: unknown): string =>
  typeof message === 'string' ? message : 'The execution failed';

const tree = z.templateLiteral(['tree:sha256:', z.string()]);
const trees = z.object({ before: tree, after: tree });
const signed = z.object({ predicate: z.object({ changes: z.nullable(trees) }) });
const envelope = z.object({ envelope: z.object({ payload: z.string() }) });

/**
 * Every command in a workspace has a statement, and each one with changes has an `exec.changed`
 * event.
 */
function snapshotIn({ kind, data }: AuditEvent): RecordedEnd['snapshot'] {
  if (kind === 'exec.changed') return trees.safeParse(data).data ?? null;
  if (kind !== 'exec.statement') return null;
  const payload = envelope.safeParse(data).data?.envelope.payload;
  if (payload === undefined) return null;
  const text = Buffer.from(payload, 'base64').toString();
  return signed.safeParse(JSON.parse(text)).data?.predicate.changes ?? null;
}

const named = z.object({ changes: receiptChangesSchema.shape.changes, omitted: z.number() });

function changesIn({ kind, data }: AuditEvent): RecordedEnd['changes'] {
  const found = kind === 'exec.changed' ? named.safeParse(data).data : undefined;
  return found === undefined ? null : { views: found.changes, omitted: found.omitted };
}
