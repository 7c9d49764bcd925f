/** Takes over what an earlier daemon left open, as the runner and the audit log know it. */
import type { ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { WorkspaceHost } from '../../host/port.ts';
import type { RedactionTags } from '../../redaction/redaction-tags.ts';
import type { StateStore } from '../../session/store.ts';
import type { ApprovalQueue } from '../approvals/approval-queue.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { ExecRecorder } from '../auditing/exec-recorder.ts';
import type { RecordedEnd } from '../auditing/recorded-ends.ts';
import { recordUnended } from '../auditing/unended.ts';
import type { Runners } from '../runners.ts';
import type { ContextCache } from '../sessions/context-cache.ts';
import { revertAfterCrash } from '../sessions/execution-context.ts';
import type { LiveSession, Sessions } from '../sessions/sessions.ts';
import type { ScriptCalls } from '../tools/script-calls.ts';
import { receiptChangeViews } from '../workspaces/change-views.ts';
import { errorFromWire } from './executions.ts';
import type { ExecRecord, Executions, QueuedExecution } from './executions.ts';
import type { EndedExecution } from './receipt.ts';
import type { CommandStarter } from './start.ts';

interface RunnerEntry {
  readonly exec_id: string;
  readonly exit: { readonly ended_at: number } | null;
}

export interface AdoptionParts {
  readonly sessions: Sessions;
  readonly execs: Executions;
  readonly contexts: ContextCache;
  readonly starter: CommandStarter;
  readonly queue: ApprovalQueue;
  readonly scripts: ScriptCalls;
  readonly recorder: ExecRecorder;
  readonly auditing: Auditing;
  readonly runners: Runners;
  readonly store: StateStore;
  readonly quarantine: string;
  readonly workspaceHost: WorkspaceHost;
  readonly tags: RedactionTags;
  readonly log: (text: string) => void;
}

/** Takes over what an earlier daemon left: its commands run on, wait on, or are found lost. */
export async function adoptExecutions(parts: AdoptionParts): Promise<void> {
  const { sessions, execs, contexts, starter, queue, scripts, recorder, auditing, runners } = parts;
  const stored = execs.stored();
  const open = stored.filter(({ outcome, lost }) => outcome === null && lost === null);
  for (const record of stored.filter((one) => !open.includes(one))) {
    const { outcome, lost } = record;
    // Tags in its output may be written back to files while this daemon runs.
    for (const { tag } of outcome?.exit.redactions?.entries ?? []) parts.tags.note(tag);
    const known = outcome === null ? Promise.reject(errorFromWire(lost)) : Promise.resolve(outcome);
    execs.track(record, known);
  }
  await revertSurveyed(parts);
  const runner = await runners.open();
  if (!runner.adopted) sessions.markNamespacesGone();
  const listed = runner.adopted ? await runner.link.request('list', {}) : null;
  const entries = listed?.executions ?? [];
  const ends = await recordedEndsOf(auditing, open, entries);
  recorder.takeOver(ends);
  const waiting: [LiveSession, ExecRecord & { readonly parked: QueuedExecution }][] = [];
  for (const record of open) {
    const entry = entries.find(({ exec_id: id }) => id === record.id);
    const session = sessions.find(record.sessionId);
    const end = ends.get(record.id);
    const { parked } = record;
    if (entry === undefined && session !== null && parked !== null && end === undefined) {
      waiting.push([session, { ...record, parked }]);
    } else if (entry === undefined || session === null) {
      const lost = lostExecutionError(end);
      recorder.failed(record.id, lost);
      execs.track(record, Promise.reject(lost));
    } else {
      runners.expect(record.id);
      if (entry.exit !== null) runners.reportExit(entry.exit);
      starter.resume(session, { ...record, parked: null }, end);
    }
  }
  // A command that looks queued may have started: its record is written after its approval is used.
  const queued = new Set(waiting.map(([, { id }]) => id));
  const known = open.filter(({ id }) => !queued.has(id)).map(({ id }) => id);
  await recordUnended(auditing, new Set(known));
  // Queued commands come last: which sessions are busy is known by then.
  for (const [session, record] of waiting) {
    // What policy permits must be known before a person decides.
    await contexts.policyOf(session).catch(() => null);
    queue.restore(session, record);
    scripts.restored(record.parked, execs.get(record.id));
  }
  queue.cancelOrphans();
}

/** Restores what commands changed while no daemon watched, before a workspace is read again. */
async function revertSurveyed({ store, quarantine, workspaceHost, log }: AdoptionParts) {
  for (const { json } of store.all('surveys')) {
    await revertAfterCrash(workspaceHost, JSON.parse(json), quarantine).catch((error: unknown) =>
      log(`a workspace could not be put back: ${String(error)}`),
    );
  }
}

/** What the audit log says about the ends of commands that no longer run. */
function recordedEndsOf(
  auditing: Auditing,
  open: readonly ExecRecord[],
  entries: readonly RunnerEntry[],
): Promise<ReadonlyMap<ExecId, RecordedEnd>> {
  const found = open.flatMap(({ id, startedAt }) => {
    const entry = entries.find(({ exec_id: one }) => one === id);
    if (entry === undefined) return [{ id, since: startedAt }];
    return entry.exit === null ? [] : [{ id, since: entry.exit.ended_at }];
  });
  const since = Math.min(...found.map((one) => one.since));
  return auditing.ends(new Set(found.map(({ id }) => id)), since);
}

/** Why a command that the runner does not know has no receipt. */
function lostExecutionError(end: RecordedEnd | undefined): TrlError {
  if (end?.failure) return end.failure;
  if (end === undefined) {
    return new TrlError('BACKEND_UNAVAILABLE', 'The execution was lost while no daemon was there');
  }
  const { log, seq } = end.mark;
  const message =
    'The command ended while no daemon was there, and its receipt was lost with its runner: ' +
    `event ${seq} of log ${log} says how it ended`;
  return new TrlError('BACKEND_UNAVAILABLE', message);
}

/** The receipt reports the changes that were signed: the workspace may have changed since. */
export function withSignedChanges(
  ended: EndedExecution,
  end: RecordedEnd | undefined,
): EndedExecution {
  const { workspace } = ended;
  if (workspace?.snapshot == null || !end?.snapshot) return ended;
  const signed =
    end.changes === null ? {} : receiptChangeViews(end.changes.views, end.changes.omitted);
  const snapshot = { ...workspace.snapshot, ...end.snapshot };
  return { ...ended, workspace: { ...workspace, ...signed, snapshot } };
}

export const notStartedError = ({ code, message, data }: TrlError): TrlError =>
  new TrlError(code, `${message}; the command was not started`, data === null ? {} : { data });
