/** Handles as agents send them: any text. */
import type { ExecId, SessionId } from '../client/index.ts';
import { isTrlError, TrlError } from '../errors.ts';
import type { ToolContext } from './tool.ts';

/**
 * The session of a call: the one it names, a new one for `new`, else the conversation's.
 *
 * @throws TrlError `SESSION_NOT_FOUND`
 */
export async function resolveCallSession(
  context: ToolContext,
  given: string | undefined,
): Promise<SessionId> {
  if (given === undefined) return context.sessions.session();
  if (given === 'new') return context.sessions.newSession();
  return findNamedSession(context, given);
}

/** @throws TrlError `SESSION_NOT_FOUND` for text that is no session of the conversation */
export async function findNamedSession(
  { sessions }: ToolContext,
  text: string,
): Promise<SessionId> {
  if (isSessionId(text) && (await sessions.mayUse?.(text)) !== false) return text;
  const message = `Cannot find the session: there is no ${JSON.stringify(text)}`;
  throw new TrlError('SESSION_NOT_FOUND', message);
}

/** @throws TrlError `EXEC_NOT_FOUND` for text that is no execution of the conversation */
export async function findNamedExec(
  { client, sessions }: ToolContext,
  text: string,
): Promise<ExecId> {
  if (isExecId(text)) {
    if (sessions.mayUse === undefined) return text;
    const { session_id } = await client.exec(text);
    if (await sessions.mayUse(session_id)) return text;
  }
  const message = `Cannot find the execution: there is no ${JSON.stringify(text)}`;
  throw new TrlError('EXEC_NOT_FOUND', message);
}

/** The same for an execution of which only changes may be recorded: any of the project. */
export async function findRecordedExec(context: ToolContext, text: string): Promise<ExecId> {
  const { client, sessions, workspace } = context;
  try {
    return await findNamedExec(context, text);
  } catch (error) {
    if (sessions.mayUse === undefined || !isExecId(text)) throw error;
    if (!isTrlError(error, 'EXEC_NOT_FOUND')) throw error;
    const { path } = await client.call('snapshot.get', { exec_id: text, limit: 1 });
    if (path !== workspace.root) throw error;
    return text;
  }
}

const isSessionId = (text: string): text is SessionId => /^s-[0-9a-f]{1,64}$/.test(text);
const isExecId = (text: string): text is ExecId => /^x-[0-9a-f]{1,64}$/.test(text);
