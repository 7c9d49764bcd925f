/**
 * Calls that change more than a command's own state: told before they act, and how they ended.
 * Commands tell of themselves (`exec-recorder.ts`).
 */
import type { EventKind, Json } from '../../audit/event.ts';
import type { Caller, ExecId, SessionId } from '../../command.ts';
import type { MethodName } from '../../protocol/methods.ts';
import { field, textAt } from '../../provenance/told.ts';
import type { Call } from '../runtime.ts';
import type { Repeats } from './repeats.ts';
import { failureOf, type Auditing, type Told } from './auditing.ts';

/** What a method is told as when it is done, and which of its fields are told: never a value. */
interface Telling {
  readonly kind: EventKind;
  readonly params: readonly string[];
  readonly answer: readonly string[];
  /** It only takes away: it acts though nothing can be recorded just now. */
  readonly ends?: true;
}

const telling: Partial<Record<MethodName, Telling>> = {
  // The link itself is whoever's who has it: it is told to nobody.
  'console.login': { kind: 'call.done', params: [], answer: ['expires_at'] },
  'session.create': {
    kind: 'session.created',
    params: [
      'name',
      'working_dir',
      'workspace_id',
      'workspace_mode',
      'grants',
      'sandbox',
      'share_cache',
      'policy',
    ],
    answer: ['session_id', 'shell', 'working_dir'],
  },
  'session.update': {
    kind: 'session.updated',
    params: ['name', 'unset', 'state_of'],
    answer: ['session_id'],
  },
  'session.fork': { kind: 'session.created', params: ['name'], answer: ['session_id'] },
  'session.destroy': { kind: 'session.destroyed', params: ['force'], answer: [], ends: true },
  // Who ended it, which its own events do not tell.
  'exec.cancel': { kind: 'call.done', params: ['signal'], answer: ['stopped'], ends: true },
  // Who types from now on.
  'exec.lease': { kind: 'call.done', params: ['action', 'ttl_ms'], answer: ['holder'] },
  'approval.decide': {
    kind: 'call.done',
    params: ['approval_id', 'decision', 'scope'],
    answer: ['state'],
  },
  'secrets.set': { kind: 'secret.set', params: ['name'], answer: [] },
  'secrets.delete': {
    kind: 'secret.deleted',
    params: ['name'],
    answer: ['remains'],
    ends: true,
  },
  'secrets.request': { kind: 'secret.requested', params: ['name'], answer: ['state'] },
  'tool.call': { kind: 'call.done', params: ['name'], answer: [] },
  'tool.register': { kind: 'call.done', params: ['name', 'description'], answer: [] },
  'secrets.inject': { kind: 'secret.granted', params: ['names'], answer: ['names'] },
  'workspace.trust': { kind: 'workspace.trusted', params: ['path'], answer: ['path', 'is_new'] },
  'workspace.forget': { kind: 'workspace.forgotten', params: ['path'], answer: ['forgotten'] },
  'cache.clear': { kind: 'call.done', params: ['path'], answer: ['cleared'] },
  'workspace.open': {
    kind: 'workspace.opened',
    params: ['path', 'mode', 'policy'],
    answer: ['workspace_id', 'path'],
  },
  'workspace.apply': {
    kind: 'workspace.committed',
    params: ['paths', 'held', 'digest'],
    answer: ['totals'],
  },
  'workspace.discard': { kind: 'workspace.committed', params: ['paths'], answer: ['totals'] },
  'snapshot.restore': {
    kind: 'workspace.committed',
    params: ['id', 'exec_id', 'paths', 'dry_run'],
    answer: ['totals', 'exec_ids'],
  },
  'exec.undo': {
    kind: 'workspace.committed',
    params: ['exec_id', 'paths', 'dry_run'],
    answer: ['totals', 'exec_ids'],
  },
};

/** These tell of their own refusals and failures. */
const tellThemselves: ReadonlySet<string> = new Set(['exec.run', 'exec.stream', 'exec.start']);
/** Codes by which a caller is told that it may not. */
const refusals: ReadonlySet<string> = new Set([
  'AUTH_FAILED',
  'PERMISSION_DENIED',
  'POLICY_DENIED',
  'WORKSPACE_ESCAPE',
]);
const failures: ReadonlySet<string> = new Set([
  'SANDBOX_UNAVAILABLE',
  'BACKEND_UNAVAILABLE',
  'SECRET_UNAVAILABLE',
  'INTERNAL_ERROR',
]);

/** How calls are told. */
export interface CallTelling {
  readonly auditing: Auditing;
  /** For those that are refused. */
  readonly repeats: Repeats;
}

/**
 * Lets a call act once its request is on disk, where it changes something.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE`: it did not act; else what `act` throws
 */
export async function audited<Answer>(
  { auditing, repeats }: CallTelling,
  call: Call,
  act: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const { method, caller, params } = call;
  const how = telling[method];
  if (how !== undefined) {
    const data = { method, ...parentOf(caller), ...chosen(params, how.params) };
    const told: Told = { kind: 'call.requested', ...whose(caller, params), data };
    await (how.ends === true ? auditing.tell([told]) : auditing.record(told));
  }
  try {
    const answer = await act();
    // It is done: that it cannot be told yet takes nothing back.
    if (how !== undefined) await auditing.tell([doneEvent(call, how, answer)]);
    return answer;
  } catch (error) {
    if (!tellThemselves.has(method)) await tellFailure(repeats, call, error);
    throw error;
  }
}

/**
 * Tells of a call that is refused before it asks for anything.
 *
 * @throws what `check` throws
 */
export async function checked<Params>(
  { repeats }: CallTelling,
  call: Call,
  check: () => Params | Promise<Params>,
): Promise<Params> {
  try {
    return await check();
  } catch (error) {
    await tellFailure(repeats, call, error);
    throw error;
  }
}

function doneEvent({ method, caller, params }: Call, how: Telling, answer: unknown): Told {
  const done = chosen(answer, how.answer);
  const session = textAt(answer, 'session_id');
  const of = whose(caller, params);
  return {
    kind: how.kind,
    ...of,
    ...(isSession(session) ? { session } : {}),
    data: { method, ...chosen(params, how.params), ...done },
  };
}

async function tellFailure(
  repeats: Repeats,
  { method, caller, params }: Call,
  error: unknown,
): Promise<void> {
  const { code, message } = failureOf(error);
  const isChange = telling[method] !== undefined;
  if (!isChange && !refusals.has(code) && !failures.has(code)) return;
  const kind = failures.has(code) ? 'call.failed' : 'call.refused';
  await repeats.tell({ kind, ...whose(caller, params), data: { method, code, message } });
}

/** The script that calls in its caller's place. */
const parentOf = ({ within }: Caller): Told['data'] =>
  within === undefined ? {} : { parent: within };

function whose({ actor }: Caller, params: unknown): Pick<Told, 'actor' | 'session' | 'exec'> {
  const [session, exec] = [textAt(params, 'session_id'), textAt(params, 'exec_id')];
  return {
    actor,
    ...(isSession(session) ? { session } : {}),
    ...(isExec(exec) ? { exec } : {}),
  };
}

const isSession = (id: string | null): id is SessionId => id?.startsWith('s-') === true;
const isExec = (id: string | null): id is ExecId => id?.startsWith('x-') === true;

function chosen(of: unknown, names: readonly string[]): Told['data'] {
  return Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const value = field(of, name);
      return value === undefined ? [] : [[name, jsonOf(value)]];
    }),
  );
}

/** As it goes over the wire; what is very long is cut to its beginning. */
function jsonOf(value: unknown): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value;
  if (typeof value === 'string') return value.slice(0, textMax).toWellFormed();
  if (Array.isArray(value)) return value.slice(0, listMax).map(jsonOf);
  if (typeof value !== 'object') return null;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => [name, jsonOf(one)]),
  );
}

const textMax = 4_096;
const listMax = 1_000;
