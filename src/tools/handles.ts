/** Handles as agents give them back: text that may be anything. */
import type { ExecId, SessionId } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import type { ToolContext } from './tool.ts';

/**
 * The session that a call means: one it names, another one for `new`, else the conversation's.
 *
 * @throws TrlError `SESSION_NOT_FOUND`
 */
export async function sessionOf(
  { sessions }: ToolContext,
  given: string | undefined,
): Promise<SessionId> {
  if (given === undefined) return sessions.session();
  if (given === 'new') return sessions.open();
  return toSessionId(given);
}

/** @throws TrlError `SESSION_NOT_FOUND` for text that no session is called */
export function toSessionId(text: string): SessionId {
  if (isSessionId(text)) return text;
  const message = `Cannot find the session: there is no ${JSON.stringify(text)}`;
  throw new TrlError('SESSION_NOT_FOUND', message);
}

/** @throws TrlError `EXEC_NOT_FOUND` for text that no execution is called */
export function toExecId(text: string): ExecId {
  if (isExecId(text)) return text;
  const message = `Cannot find the execution: there is no ${JSON.stringify(text)}`;
  throw new TrlError('EXEC_NOT_FOUND', message);
}

const isSessionId = (text: string): text is SessionId => /^s-[0-9a-f]{1,64}$/.test(text);
const isExecId = (text: string): text is ExecId => /^x-[0-9a-f]{1,64}$/.test(text);
