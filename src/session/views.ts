/**
 * Which sessions work in one view of a workspace: one overlay and one upper layer, so that locks,
 * appends, renames and watches hold between their commands as on a plain file system.
 */
import { createHash } from 'node:crypto';
import type { WorkspaceMode } from '../change.ts';
import type { SessionRecord } from './record.ts';

type Member = Pick<SessionRecord, 'id' | 'view' | 'isViewOwn'>;

/** The name of a session's view, and of the directory of its layers. */
export const viewIdOf = ({ id, view }: Member): string => view ?? id;

/**
 * The view that a new session works in. Sessions share one where they are of the same actor and may
 * see, write and reach the same. What is staged or thrown away is for the session's own commands.
 */
export function chooseViewId(record: SessionRecord, others: readonly Member[]): string {
  const { id, workspace, owner, grants, workspaceRules, policy, searchPath } = record;
  const isDirect = sessionWorkspaceMode(record) === 'direct' && grants.sandbox !== 'none';
  const isShared = isDirect && workspace !== null;
  if (!isShared) return id;
  const { read, write } = grants.files;
  const files = [read.allow, read.deny, write.allow, write.deny];
  const rules = [
    owner ?? '',
    files,
    grants.network,
    grants.hosts ?? [],
    workspaceRules ?? null,
    policy,
  ];
  // Other tools are mounted elsewhere: two sandboxes never have one layer.
  if (searchPath !== undefined) rules.push(searchPath);
  const text = JSON.stringify([workspace, ...rules]);
  const name = `v-${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
  for (let count = 0; ; count += 1) {
    const view = count === 0 ? name : `${name}.${count}`;
    if (!others.some((other) => other.view === view && other.isViewOwn === true)) return view;
  }
}

/** What becomes of what a session's commands change. */
export const sessionWorkspaceMode = ({
  workspaceMode,
}: Pick<SessionRecord, 'workspaceMode'>): WorkspaceMode => workspaceMode ?? 'direct';
