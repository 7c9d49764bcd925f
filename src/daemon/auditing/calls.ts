/**
 * Calls that change more than a command's own state: told before they act, and how they ended.
 * Commands tell of themselves (`exec-recorder.ts`).
 */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { field, textAt } from '../../provenance/told.ts';
import type { Json } from '../../audit/event.ts';
import type { AuditSpec } from '../../api/define.ts';
import { definitionOf, type MethodName } from '../../api/methods.ts';
import type { Call } from '../runtime.ts';
import type { Repeats } from './repeats.ts';
import { failureOf, type Auditing, type Told } from './auditing.ts';

/** How a method's calls are recorded, where they change something. */
function auditSpecOf(method: MethodName): AuditSpec | null {
  const { audit } = definitionOf(method);
  return audit === 'own events' ? null : audit;
}

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
  const how = auditSpecOf(method);
  if (how !== null) {
    const data = { method, ...parentOf(caller), ...chosen(params, how.params) };
    const told: Told = { kind: 'call.requested', ...whose(caller, params), data };
    await (how.ends === true ? auditing.tell([told]) : auditing.record(told));
  }
  try {
    const answer = await act();
    // It is done: that it cannot be told yet takes nothing back.
    if (how !== null) await auditing.tell([doneEvent(call, how, answer)]);
    return answer;
  } catch (error) {
    if (definitionOf(method).audit !== 'own events') await tellFailure(repeats, call, error);
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

function doneEvent({ method, caller, params }: Call, how: AuditSpec, answer: unknown): Told {
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
  const isChange = auditSpecOf(method) !== null;
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
