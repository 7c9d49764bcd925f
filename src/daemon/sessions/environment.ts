/** What `session.info` reports of the variables that a session's commands get. */
import type { SessionView } from '../../api/session.ts';
import { expectedEnvironment } from './execution-context.ts';
import type { SessionServiceParts } from './session-service.ts';
import { sessionViewOf, type LiveSession } from './sessions.ts';

/**
 * @throws TrlError `POLICY_DENIED` when the project's policy was trusted and has changed since
 */
export async function sessionEnvironmentView(
  {
    searchPathHosts,
    env,
    policies,
    variables,
  }: Pick<SessionServiceParts, 'searchPathHosts' | 'env' | 'policies' | 'variables'>,
  session: LiveSession,
): Promise<SessionView> {
  const { record } = session;
  const policy = await policies.of(record.workspace);
  const legacy = await variables.inherited();
  const level =
    (await session.context?.catch(() => null)) ??
    expectedEnvironment({
      record,
      host: searchPathHosts.host(record.searchPath),
      env,
      policy,
      withhold: variables.withhold,
      legacy,
    });
  return { ...sessionViewOf(session), environment: await variables.view(record, level) };
}
