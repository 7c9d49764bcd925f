/**
 * The session of one tool call has the tool's grants and its own home. Only the tool runs in it:
 * another command could plant a dotfile or a variable there, and so misuse what only the tool gets.
 */
import { TrlError } from '../../errors.ts';
import type { SessionRecord } from '../../session/record.ts';

/** @throws TrlError `POLICY_DENIED` */
export function refuseToolSession({ id, tool }: Pick<SessionRecord, 'id' | 'tool'>): void {
  if (tool === undefined) return;
  const reason = `it belongs to a call of the tool "${tool.name}"; use a session of your own`;
  throw new TrlError('POLICY_DENIED', `Cannot use ${id}: ${reason}`);
}
