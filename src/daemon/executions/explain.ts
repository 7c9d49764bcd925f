/** What policy says about a command (`policy.explain`). Nothing is refused, asked or run. */
import { PolicyRefusal } from '../../approval/approve.ts';
import { authorize } from '../../authorize.ts';
import type { Caller, Verdict } from '../../command.ts';
import type { RunDependencies } from '../../execution.ts';
import type { PolicyExplainParams } from '../../api/approval.ts';
import { newExecId } from '../../session/record.ts';
import type { EventLoopYield } from '../event-loop-yield.ts';
import type { Policies } from '../policies.ts';
import { namesOnly } from '../secrets/variables.ts';
import type { ContextCache } from '../sessions/context-cache.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { createSessionRequest } from './requests.ts';

export interface ExplainParts {
  readonly dependencies: RunDependencies;
  readonly sessions: Sessions;
  readonly contexts: ContextCache;
  readonly policies: Policies;
  readonly eventLoop: EventLoopYield;
}

export async function explainCommand(
  parts: ExplainParts,
  caller: Caller,
  params: PolicyExplainParams,
): Promise<Verdict> {
  const { command, session_id: id, shell = 'bash' } = params;
  if (id !== undefined) return explainInSession(parts, caller, { ...params, session_id: id });
  const { explainText } = await import('../../policy/explain.ts');
  const policy = await parts.policies.of(null);
  await parts.eventLoop.next();
  return explainText(policy, shell, command, caller);
}

async function explainInSession(
  { dependencies, sessions, contexts }: ExplainParts,
  caller: Caller,
  { command, session_id, shell }: PolicyExplainParams & { readonly session_id: `s-${string}` },
): Promise<Verdict> {
  const session = sessions.get(session_id);
  // The session's own shell reads any text that is not Python.
  const params = { session_id, command, ...(shell === 'python' ? { language: shell } : {}) };
  const policy = await contexts.policyOf(session);
  const request = createSessionRequest(session, params, { mode: 'detached', policy });
  const circumstances = await contexts.circumstances(session, { policy, caller, request });
  // No value is read for an explanation: a source may ask a person, or cost something.
  const withoutValues = { ...dependencies, variables: namesOnly(dependencies.variables) };
  try {
    return (await authorize(withoutValues, circumstances, request, newExecId())).verdict;
  } catch (error) {
    if (error instanceof PolicyRefusal) return error.verdict;
    throw error;
  }
}
