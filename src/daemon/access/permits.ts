/**
 * Which roles may call which method. It holds for callers by token and by login; who is on the
 * socket or the pipes has the user's uid, and proves to be a person in the call (`proof.ts`).
 */
import type { Caller, Role } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { MethodName } from '../../protocol/methods.ts';

/** `admin` may call what any role may. `socket`: nobody may who comes by a token. */
type Row = readonly Exclude<Role, 'admin'>[] | 'admin' | 'socket';

const everybody = ['agent', 'approver', 'auditor'] as const;
const agent = ['agent'] as const;
const agentAndApprover = ['agent', 'approver'] as const;
const approver = ['approver'] as const;
const people = ['approver', 'auditor'] as const;

export const permits = {
  'session.create': agent,
  'session.list': everybody,
  'session.info': everybody,
  'session.destroy': agent,
  'session.update': agent,
  'session.fork': agent,
  'session.state': everybody,
  'exec.run': agent,
  'exec.stream': agent,
  'exec.start': agent,
  'exec.attach': everybody,
  'exec.read': everybody,
  // A person takes a terminal over, or ends what should not go on.
  'exec.write': agentAndApprover,
  'exec.resize': agentAndApprover,
  'exec.cancel': agentAndApprover,
  'exec.lease': agentAndApprover,
  'exec.list': everybody,
  'exec.info': everybody,
  'exec.undo': agentAndApprover,
  'policy.explain': everybody,
  'system.ping': everybody,
  'system.stats': everybody,
  'system.hello': everybody,
  'system.watch': everybody,
  'system.metrics': everybody,
  'runtime.list': everybody,
  'approval.list': everybody,
  'approval.get': everybody,
  'approval.decide': approver,
  'approval.watch': everybody,
  'approval.status': everybody,
  'secrets.list': everybody,
  'secrets.check': everybody,
  'secrets.request': agent,
  'secrets.requests': everybody,
  'secrets.set': approver,
  'secrets.inject': agent,
  // An agent takes an injection into its own session back; see `onlyOfSession`.
  'secrets.delete': agentAndApprover,
  // Which directories an agent may work in is said by who starts it.
  'workspace.trust': 'socket',
  'workspace.forget': 'socket',
  'workspace.list': 'socket',
  'cache.list': 'socket',
  'cache.clear': 'socket',
  'workspace.open': agent,
  'workspace.status': everybody,
  'workspace.diff': everybody,
  // What is held only a person lets through, which its desk asks for.
  'workspace.apply': agentAndApprover,
  'workspace.discard': agentAndApprover,
  'snapshot.list': everybody,
  'snapshot.get': everybody,
  'snapshot.restore': agentAndApprover,
  'publish.check': agentAndApprover,
  publish: agent,
  'audit.list': everybody,
  'audit.get': everybody,
  'audit.verify': people,
  'tool.list': everybody,
  'tool.call': agent,
  'tool.register': 'admin',
  'tool.answer': 'admin',
  'console.login': 'socket',
} as const satisfies Record<MethodName, Row>;

/**
 * Without a session these touch what is everybody's. Then `agent` does not permit them.
 */
const onlyOfSession: ReadonlySet<MethodName> = new Set(['secrets.delete']);

/** What of the runtime a call may touch: everything, or what the caller itself made. */
export type Scope = 'all' | 'own';

/**
 * By which of its roles a caller may do it. A caller who is also an agent sees everything only by a
 * method that its other role permits.
 *
 * @throws TrlError `PERMISSION_DENIED` where none of its roles permits the method
 */
export function scopeOf(caller: Caller, method: MethodName, params: object): Scope {
  const { roles } = caller;
  if (!isByToken(caller)) return 'all';
  const row = rowOf(method);
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

const rowOf = (method: MethodName): Row => permits[method];

/** Whether a token says who it is, rather than the kernel. */
export const isByToken = ({ authenticatedBy }: Pick<Caller, 'authenticatedBy'>): boolean =>
  authenticatedBy === 'token' || authenticatedBy === 'login';

function listOf(roles: readonly Role[]): string {
  return roles.map((role) => `"${role}"`).join(' or ');
}
