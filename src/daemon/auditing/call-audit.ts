/**
 * Audit records of calls that change more than a command's own state: their requests and their
 * ends. Commands have their own records (`exec-recorder.ts`).
 */
import type { Caller, ExecId, SessionId } from '../../command.ts';
import { jsonField, jsonText } from '../../provenance/logged-events.ts';
import type { Json } from '../../audit/event.ts';
import type { AuditSpec } from '../../api/define-method.ts';
import { definitionOf, type MethodName } from '../../api/methods.ts';
import type { MethodCall } from '../runtime.ts';
import type { RepeatedRecords } from './repeated-records.ts';
import { failureOf, type Auditing, type AuditRecord } from './auditing.ts';

/** How calls of a method are recorded; `null`: they change nothing. */
function auditSpecOf(method: MethodName): AuditSpec | null {
  const { audit } = definitionOf(method);
  return audit === 'own events' ? null : audit;
}

/** Codes of refusals for lack of permission. */
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

/** Dependencies of the records of calls. */
export interface CallAuditParts {
  readonly auditing: Auditing;
  /** Groups the records of refused calls. */
  readonly repeats: RepeatedRecords;
}

/**
 * Runs a call; if it changes something, its request is on disk first.
 *
 * @throws TrlError `AUDIT_UNAVAILABLE`: the call did not act; else what `act` throws
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
    const request: AuditRecord = { kind: 'call.requested', ...whose(caller, params), data };
    await (how.ends === true ? auditing.append([request]) : auditing.record(request));
  }
  try {
    const answer = await act();
    // The call has acted, so a failure to record its end must not fail it.
    if (how !== null) await auditing.append([doneEvent(call, how, answer)]);
    return answer;
  } catch (error) {
    if (definitionOf(method).audit !== 'own events') await tellFailure(repeats, call, error);
    throw error;
  }
}

/**
 * Records a call that is refused before it acts.
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

/** The script that makes the call for its caller. */
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

/** The value as on the wire; very long texts are cut to their beginning. */
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
