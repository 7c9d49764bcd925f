/**
 * How commands ended, as the log says. The runtime keeps its own records a moment after the log: a
 * daemon that was killed in between leaves commands that its records call open, and whose end, and
 * signed statement, are in the log for good. The next one takes them from there.
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
/** Clocks are set back at times, in ms. */
const clockSlackMs = 3_600_000;

export interface RecordedEnd {
  readonly kinds: ReadonlySet<AuditEvent['kind']>;
  /** Of the last event. */
  readonly mark: AuditMark;
  /** Why it is not to be answered as ended; `null`: it ended. */
  readonly failure: TrlError | null;
  /** Of the workspace, as it was signed. */
  readonly snapshot: Pick<SnapshotPair, 'before' | 'after'> | null;
  /** As many changes as the event names, and how many it does not; `null`: it tells of none. */
  readonly changes: { readonly views: readonly ChangeView[]; readonly omitted: number } | null;
}

export interface SignedLogDirectory {
  readonly directory: string;
  /** Its newest signed head. */
  readonly head: string;
}

/** @param since Unix ms, before which none of them ended */
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

/** Events come from the last to the first. */
function withEvent(
  known: RecordedEnd | undefined,
  found: AuditLogEntry,
  head: string,
): RecordedEnd {
  const { kind, data } = found.event;
  const { log, seq, leaf } = found;
  const told = new Set(known?.kinds).add(kind);
  const mark = known?.mark ?? { log, seq, leaf, head };
  const failure = kind === 'exec.failed' ? failureIn(data) : (known?.failure ?? null);
  const snapshot = known?.snapshot ?? snapshotIn(found.event);
  return {
    kinds: told,
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

/** A statement tells of every command in a workspace, and `exec.changed` of those with changes. */
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
