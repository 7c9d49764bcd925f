/**
 * Agents that come by a token see and touch what their own token made, and nothing of the others:
 * another's session, command, question or workspace is answered as one that is not there. Each
 * method says here what it is about; the gate (`gate.ts`) looks it up before anything acts.
 */
import type { ApprovalId, ExecId, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { MethodName } from '../../protocol/methods.ts';

/** A parameter that names something of somebody. */
export type TargetName = 'session_id' | 'state_of' | 'exec_id' | 'approval_id' | 'workspace_id';

interface Row {
  /** These, where they are given, must be the caller's. */
  readonly own?: readonly TargetName[];
  /** Another's session is one of which nothing is listed. */
  readonly listed?: true;
  /** `exec_id` may be a command that is known by its changes alone. */
  readonly recorded?: true;
}

const none: Row = {};
const session: Row = { own: ['session_id'] };
const exec: Row = { own: ['exec_id'] };
const listed: Row = { listed: true };
// A tree is the same whoever left it: its desk looks for it among the caller's own records.
const recorded: Row = { own: ['exec_id'], recorded: true };
const publication: Row = { own: ['session_id', 'exec_id', 'workspace_id'], recorded: true };

export const ownership = {
  'session.create': { own: ['workspace_id'] },
  'session.list': none,
  'session.info': session,
  'session.destroy': session,
  'session.update': { own: ['session_id', 'state_of'] },
  'session.fork': session,
  'session.state': session,
  'exec.run': session,
  'exec.stream': session,
  'exec.start': session,
  'exec.attach': exec,
  'exec.read': exec,
  'exec.write': exec,
  'exec.resize': exec,
  'exec.cancel': { own: ['session_id', 'exec_id'] },
  'exec.lease': exec,
  'exec.list': listed,
  'exec.info': exec,
  'exec.undo': recorded,
  'policy.explain': session,
  'system.ping': none,
  'system.stats': none,
  'system.hello': none,
  'system.watch': none,
  'system.metrics': none,
  'runtime.list': none,
  'approval.list': listed,
  'approval.get': { own: ['approval_id'] },
  'approval.decide': { own: ['approval_id'] },
  'approval.watch': none,
  'approval.status': none,
  'secrets.list': none,
  'secrets.check': none,
  'secrets.request': none,
  'secrets.requests': none,
  'secrets.set': none,
  'secrets.inject': session,
  'secrets.delete': session,
  'workspace.trust': none,
  'workspace.forget': none,
  'workspace.list': none,
  'cache.list': none,
  'cache.clear': none,
  'workspace.open': none,
  'workspace.status': session,
  'workspace.diff': { own: ['session_id', 'exec_id'], recorded: true },
  'workspace.apply': session,
  'workspace.discard': session,
  'snapshot.list': listed,
  'snapshot.get': recorded,
  'snapshot.restore': recorded,
  'publish.check': publication,
  publish: publication,
  'audit.list': listed,
  'audit.get': listed,
  'audit.verify': none,
  'tool.list': session,
  'tool.call': session,
  'tool.register': none,
  'tool.answer': none,
  'console.login': none,
} as const satisfies Record<MethodName, Row>;

/** Who made what. `null`: nobody that is known, which no token is. */
export interface Owners {
  ofSession(id: SessionId): string | null;
  ofExec(id: ExecId): string | null;
  /** Also of a command that is known by its changes alone. */
  ofRecord(id: ExecId): Promise<string | null>;
  ofApproval(id: ApprovalId): string | null;
  ofWorkspace(id: string): string | null;
}

/** No session has this id: ids are random. */
const nobodys = `s-${'0'.repeat(32)}`;

/**
 * The parameters of a call by `actor` that may touch only its own.
 *
 * @throws TrlError as for what is not there, where a parameter names what is another's
 */
export async function ownParams<Params extends object>(
  method: MethodName,
  params: Params,
  by: { readonly actor: string; readonly owners: Owners },
): Promise<Params> {
  const row: Row = ownership[method];
  const { own = [] } = row;
  const isRecorded = row.recorded === true;
  const { actor, owners } = by;
  const at = (name: string): string | null => {
    const value: unknown = Reflect.get(params, name);
    return typeof value === 'string' ? value : null;
  };
  for (const name of own) {
    const id = at(name);
    if (id === null) continue;
    const owner = await ownerOf(name, id, { owners, isRecorded });
    if (owner !== actor) throw absent(name, id, isRecorded);
  }
  const id = at('session_id');
  const isForeign =
    row.listed === true && id !== null && isSession(id) && owners.ofSession(id) !== actor;
  return isForeign ? { ...params, session_id: nobodys } : params;
}

function ownerOf(
  name: TargetName,
  id: string,
  { owners, isRecorded }: { readonly owners: Owners; readonly isRecorded: boolean },
): string | null | Promise<string | null> {
  switch (name) {
    case 'session_id':
    case 'state_of':
      return isSession(id) ? owners.ofSession(id) : null;
    case 'exec_id':
      if (!isExec(id)) return null;
      return isRecorded ? owners.ofRecord(id) : owners.ofExec(id);
    case 'approval_id':
      return isApproval(id) ? owners.ofApproval(id) : null;
    case 'workspace_id':
      return owners.ofWorkspace(id);
  }
}

/** In the words of what is really not there, so that the two cannot be told apart. */
function absent(name: TargetName, id: string, isRecorded: boolean): TrlError {
  switch (name) {
    case 'session_id':
    case 'state_of':
      return new TrlError('SESSION_NOT_FOUND', `Cannot find session ${id}`);
    case 'exec_id': {
      const message = isRecorded
        ? `Cannot find what ${id} changed: no record is kept`
        : `Cannot find execution ${id}`;
      return new TrlError('EXEC_NOT_FOUND', message);
    }
    case 'approval_id':
      return new TrlError('INVALID_PARAMS', `Cannot find approval ${id}`);
    case 'workspace_id':
      return new TrlError('INVALID_PARAMS', `Cannot find workspace "${id}": nobody opened it`);
  }
}

const isSession = (id: string): id is SessionId => id.startsWith('s-');
const isExec = (id: string): id is ExecId => id.startsWith('x-');
const isApproval = (id: string): id is ApprovalId => id.startsWith('a-');
