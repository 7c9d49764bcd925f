/** What an earlier daemon left open, as the runner and the audit log know it. */
import type { ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { CoreOptions } from '../core-options.ts';
import { revertAfterCrash } from '../sessions/execution-context.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { RecordedEnd } from '../auditing/recorded-ends.ts';
import { receiptChangeViews } from '../workspaces/change-views.ts';
import type { ExecRecord } from './executions.ts';
import type { EndedExecution } from './receipt.ts';

export interface RunnerEntry {
  readonly exec_id: string;
  readonly exit: { readonly ended_at: number } | null;
}

/** What ran while nobody watched is put back before the workspace is looked at anew. */
export async function revertSurveyed({
  store,
  quarantine,
  workspaceHost,
  log,
}: Pick<CoreOptions, 'store' | 'quarantine' | 'workspaceHost' | 'log'>): Promise<void> {
  for (const { json } of store.all('surveys')) {
    await revertAfterCrash(workspaceHost, JSON.parse(json), quarantine).catch((error: unknown) =>
      log(`a workspace could not be put back: ${String(error)}`),
    );
  }
}

/** Of those that do not run any more: what the log says of their ends. */
export function recordedEndsOf(
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

/** What its output was given may be written back under this daemon. */
export function noteTags(
  { redaction }: Pick<CoreOptions, 'redaction'>,
  outcome: EndedExecution | null,
) {
  for (const { tag } of outcome?.exit.redactions?.entries ?? []) redaction.tags.note(tag);
}

/** Why there is no receipt of one that the runner does not know. */
export function lostExecutionError(end: RecordedEnd | undefined): TrlError {
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

/** The receipt says what was signed: others may have changed the workspace since. */
export function withSignedChanges(
  ended: EndedExecution,
  end: RecordedEnd | undefined,
): EndedExecution {
  const { workspace } = ended;
  if (workspace?.snapshot == null || !end?.snapshot) return ended;
  const told =
    end.changes === null ? {} : receiptChangeViews(end.changes.views, end.changes.omitted);
  const snapshot = { ...workspace.snapshot, ...end.snapshot };
  return { ...ended, workspace: { ...workspace, ...told, snapshot } };
}

export const notStartedError = ({ code, message, data }: TrlError): TrlError =>
  new TrlError(code, `${message}; the command was not started`, data === null ? {} : { data });
