/**
 * Which roles may call which method. It holds for callers by token and by login; who is on the
 * socket or the pipes has the user's uid, and proves to be a person in the call (`proof.ts`).
 */
import type { Caller, Role } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { definitionOf, type MethodName } from '../../api/methods.ts';

/**
 * Without a session these touch what is everybody's. Then `agent` does not permit them.
 */
const onlyOfSession: ReadonlySet<MethodName> = new Set(['secrets.delete']);

/** What of the runtime a call may touch: everything, or what the caller itself made. */
export type AccessScope = 'all' | 'own';

/**
 * By which of its roles a caller may do it. A caller who is also an agent sees everything only by a
 * method that its other role permits.
 *
 * @throws TrlError `PERMISSION_DENIED` where none of its roles permits the method
 */
export function accessScopeOf(caller: Caller, method: MethodName, params: object): AccessScope {
  const { roles } = caller;
  if (!isTokenAuthenticated(caller)) return 'all';
  const row = definitionOf(method).roles;
  const may: readonly Role[] = typeof row === 'string' ? [] : row;
  if (row !== 'socket' && roles.includes('admin')) return 'all';
  if (roles.some((role) => role !== 'agent' && may.includes(role))) return 'all';
  const isOfSession = 'session_id' in params || !onlyOfSession.has(method);
  if (roles.includes('agent') && may.includes('agent') && isOfSession) return 'own';
  const wanted =
    row === 'socket'
      ? 'it is for the socket of the runtime alone'
      : `wanted ${listOf([...may.filter((role) => role !== 'agent' || isOfSession), 'admin'])}`;
  const message = `Cannot run ${method}: ${listOf(roles)} may not; ${wanted}`;
  throw new TrlError('PERMISSION_DENIED', message);
}

/** Whether a token says who it is, rather than the kernel. */
export const isTokenAuthenticated = ({
  authenticatedBy,
}: Pick<Caller, 'authenticatedBy'>): boolean =>
  authenticatedBy === 'token' || authenticatedBy === 'login';

function listOf(roles: readonly Role[]): string {
  return roles.map((role) => `"${role}"`).join(' or ');
}
