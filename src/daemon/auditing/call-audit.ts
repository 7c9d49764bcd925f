/**
 * Calls that change more than a command's own state: told before they act, and how they ended.
 * Commands tell of themselves (`exec-recorder.ts`).
 */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { jsonField, jsonText } from '../../provenance/logged-events.ts';
import type { Json } from '../../audit/event.ts';
import type { AuditSpec } from '../../api/define-method.ts';
import { definitionOf, type MethodName } from '../../api/methods.ts';
import type { MethodCall } from '../runtime.ts';
import type { RepeatedRecords } from './repeated-records.ts';
import { failureOf, type Auditing, type AuditRecord } from './auditing.ts';

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
export interface CallAuditParts {
  readonly auditing: Auditing;
  /** For those that are refused. */
  readonly repeats: RepeatedRecords;
}

/**
 * Lets a call act once its request is on disk, where it changes something.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE`: it did not act; else what `act` throws
 */
export async function runAudited<Answer>(
  { auditing, repeats }: CallAuditParts,
  call: MethodCall,
  act: () => Answer | Promise<Answer>,
): Promise<Answer> {
  const { method, caller, params } = call;
  const how = auditSpecOf(method);
  if (how !== null) {
    const data = { method, ...parentOf(caller), ...chosen(params, how.params) };
    const told: AuditRecord = { kind: 'call.requested', ...whose(caller, params), data };
    await (how.ends === true ? auditing.append([told]) : auditing.record(told));
  }
  try {
    const answer = await act();
    // It is done: that it cannot be told yet takes nothing back.
    if (how !== null) await auditing.append([doneEvent(call, how, answer)]);
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
export async function checkAudited<Params>(
  { repeats }: CallAuditParts,
  call: MethodCall,
  check: () => Params | Promise<Params>,
): Promise<Params> {
  try {
    return await check();
  } catch (error) {
    await tellFailure(repeats, call, error);
    throw error;
  }
}

function doneEvent(
  { method, caller, params }: MethodCall,
  how: AuditSpec,
  answer: unknown,
): AuditRecord {
  const done = chosen(answer, how.answer);
  const session = jsonText(answer, 'session_id');
  const of = whose(caller, params);
  return {
    kind: how.kind,
    ...of,
    ...(isSession(session) ? { session } : {}),
    data: { method, ...chosen(params, how.params), ...done },
  };
}

async function tellFailure(
  repeats: RepeatedRecords,
  { method, caller, params }: MethodCall,
  error: unknown,
): Promise<void> {
  const { code, message } = failureOf(error);
  const isChange = auditSpecOf(method) !== null;
  if (!isChange && !refusals.has(code) && !failures.has(code)) return;
  const kind = failures.has(code) ? 'call.failed' : 'call.refused';
  await repeats.record({ kind, ...whose(caller, params), data: { method, code, message } });
}

/** The script that calls in its caller's place. */
const parentOf = ({ within }: Caller): AuditRecord['data'] =>
  within === undefined ? {} : { parent: within };

function whose(
  { actor }: Caller,
  params: unknown,
): Pick<AuditRecord, 'actor' | 'session' | 'exec'> {
  const [session, exec] = [jsonText(params, 'session_id'), jsonText(params, 'exec_id')];
  return {
    actor,
    ...(isSession(session) ? { session } : {}),
    ...(isExec(exec) ? { exec } : {}),
  };
}

const isSession = (id: string | null): id is SessionId => id?.startsWith('s-') === true;
const isExec = (id: string | null): id is ExecId => id?.startsWith('x-') === true;

function chosen(of: unknown, names: readonly string[]): AuditRecord['data'] {
  return Object.fromEntries(
    names.flatMap((name): [string, Json][] => {
      const value = jsonField(of, name);
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
