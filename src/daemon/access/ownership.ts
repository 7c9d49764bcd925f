/**
 * Agents that come by a token see and touch what their own token made, and nothing of the others:
 * another's session, command, question or workspace is answered as one that is not there. Each
 * method's definition names what it is about; the gate (`gate.ts`) looks it up before anything
 * acts.
 */
import { fieldOf } from '../../json-shape.ts';
import type { ApprovalId, ExecId, SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { TargetName } from '../../api/define-method.ts';
import { definitionOf, type MethodName } from '../../api/methods.ts';

/** Who made what. `null`: nobody that is known, which no token is. */
export interface OwnerLookup {
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
export async function restrictParams<Params extends object>(
  method: MethodName,
  params: Params,
  by: { readonly actor: string; readonly owners: OwnerLookup },
): Promise<Params> {
  const row = definitionOf(method).owns;
  const { own = [] } = row;
  const isRecorded = row.recorded === true;
  const { actor, owners } = by;
  const at = (name: string): string | null => {
    const value = fieldOf(params, name);
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
  { owners, isRecorded }: { readonly owners: OwnerLookup; readonly isRecorded: boolean },
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

/** The same error as for something that does not exist, so that nobody can distinguish them. */
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
