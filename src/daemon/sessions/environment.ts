/** What `session.info` tells of the variables that a session's commands get. */
import type { SessionView } from '../../protocol/types.ts';
import type { CoreOptions } from '../core-options.ts';
import { expectedLevel } from './ground.ts';
import { sessionView, type Session } from './sessions.ts';

/**
 * @throws TrlError `POLICY_DENIED` when the project's policy was trusted and has changed since
 */
export async function sessionWithEnvironment(
  { searched, env, policies, variables }: CoreOptions,
  session: Session,
): Promise<SessionView> {
  const { record } = session;
  const policy = await policies.of(record.workspace);
  const legacy = await variables.inherited();
  const level =
    (await session.ground?.catch(() => null)) ??
    expectedLevel({
      record,
      host: searched.host(record.searchPath),
      env,
      policy,
      withhold: variables.withhold,
      legacy,
    });
  return { ...sessionView(session), environment: await variables.view(record, level) };
}
