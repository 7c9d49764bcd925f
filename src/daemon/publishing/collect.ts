/** Collects the content to publish, as the call requests it. */
import type { ExecId, PathRules } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { PublishCheckParams } from '../../api/publish.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import type { Executions } from '../executions/executions.ts';
import { netChanges } from '../diffs/net-changes.ts';
import type { Runners } from '../runners.ts';
import { pathFilter, requestedPaths } from '../workspaces/change-views.ts';
import type { ChangeRecord, WorkspaceHost } from '../../host/port.ts';
import {
  PublicationBudget,
  type OutgoingCollection,
  type UnscannedItem,
} from '../../publish/publication.ts';
import { printedItems } from './printed-items.ts';
import { recordedItems } from './recorded-items.ts';

export interface CollectingParts {
  readonly host: Pick<WorkspaceHost, 'files' | 'history'>;
  readonly execs: Pick<Executions, 'find'>;
  readonly runners: Pick<Runners, 'link'>;
}

export interface CollectionTarget {
  readonly root: string;
  /** The named directory, in the workspace. */
  readonly cwd: string;
  /** Which paths the audience may see. */
  readonly rules: PathRules;
  /** The record of the requested command; `null`: it changed nothing, or none was requested. */
  readonly record: ChangeRecord | null;
  /** All records of the workspace. */
  readonly records: readonly ChangeRecord[];
}

/** @throws TrlError `INVALID_PARAMS`, `EXEC_NOT_FOUND`, `QUOTA_EXCEEDED`, `STREAM_GAP` */
export async function collectPublication(
  parts: CollectingParts,
  params: PublishCheckParams,
  meant: CollectionTarget,
): Promise<OutgoingCollection> {
  const allowance = new PublicationBudget();
  const { root, cwd, record, records } = meant;
  switch (params.kind) {
    case 'paths':
      return parts.host.files.collect(meant, requestedPaths(params, root) ?? ['']);
    case 'exec': {
      const changed = await changes(parts, params, { root, allowance, runs: [record] });
      if (params.output !== true) return changed;
      const printed = await output(parts, params.exec_id, allowance);
      const items = [...changed.items, ...printed.items];
      return { items, unread: [...changed.unread, ...printed.unread], earlier: null };
    }
    case 'changes': {
      const session = params.session_id;
      if (session === undefined) {
        throw new TrlError('INVALID_PARAMS', 'Cannot determine the changes: specify "session_id"');
      }
      const runs = records.filter((one) => one.session === session && !one.undone);
      return changes(parts, params, {
        root,
        allowance,
        runs: runs.toSorted((a, b) => a.at - b.at),
      });
    }
    case 'git':
      return parts.host.files.pushed({ root, cwd }, params);
    case 'staged':
      return parts.host.files.staged({ root, cwd });
    case 'text':
      return text(params, allowance);
  }
}

async function changes(
  { host }: CollectingParts,
  params: PublishCheckParams,
  of: {
    readonly root: string;
    readonly allowance: PublicationBudget;
    readonly runs: readonly (ChangeRecord | null)[];
  },
): Promise<OutgoingCollection> {
  const { root, allowance, runs } = of;
  const contents = await host.history.contents();
  const slices = new TimeSlices();
  const found = await recordedItems(netChanges(runs.map((one) => one?.changes ?? [])), {
    read: (sha256) => contents.read(sha256),
    isMeant: pathFilter(params, root),
    allowance,
    turn: async () => (slices.isOver ? slices.yieldTurn() : undefined),
  });
  const missed = runs.flatMap((one): UnscannedItem[] =>
    one === null || one.complete ? [] : [partOf(one.exec)],
  );
  return { items: found.items, unread: [...found.unread, ...missed], earlier: null };
}

function partOf(exec: ExecId): UnscannedItem {
  const reason = 'was not looked through to its end, so more may have changed';
  return { name: `changes of ${exec}`, reason, key: exec };
}

async function output(
  { execs, runners }: CollectingParts,
  id: ExecId | undefined,
  allowance: PublicationBudget,
): Promise<Pick<OutgoingCollection, 'items' | 'unread'>> {
  const tracked = id === undefined ? null : execs.find(id);
  if (tracked !== null) return printedItems(await runners.link(), tracked, allowance);
  const message = `Cannot read the output of ${id ?? ''}: it is no longer held`;
  throw new TrlError('STREAM_GAP', message);
}

function text(params: PublishCheckParams, allowance: PublicationBudget): OutgoingCollection {
  const bytes = Buffer.from(params.data ?? '', 'base64');
  allowance.take(bytes.length);
  const name = params.name ?? 'stdin';
  const file = { path: 'stdin', type: 'file', mode: 0o644 } as const;
  return { items: [{ name, kind: 'text', bytes, path: null, file }], unread: [], earlier: null };
}

/** The record of a command; `null`: the command is known, but has no recorded changes. */
export async function findChangeRecord(
  { host, execs }: CollectingParts,
  id: ExecId | undefined,
): Promise<ChangeRecord | null> {
  if (id === undefined) return null;
  try {
    return await host.history.record(id);
  } catch (error) {
    if (!isTrlError(error, 'EXEC_NOT_FOUND') || execs.find(id) === null) throw error;
    return null;
  }
}
