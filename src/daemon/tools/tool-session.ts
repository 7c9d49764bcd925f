/**
 * The session of one call of a tool. It has the tool's grants and a home of its own, so nothing but
 * the tool runs in it, and nobody prepares it for the tool: a dotfile that its program reads, or a
 * variable, would be given what only the tool gets.
 */
import { TrlError } from '../../errors.ts';
import type { SessionRecord } from '../../session/record.ts';

/** @throws TrlError `POLICY_DENIED` */
export function refuseToolSession({ id, tool }: Pick<SessionRecord, 'id' | 'tool'>): void {
  if (tool === undefined) return;
  const reason = `it belongs to a call of the tool "${tool.name}"; use a session of your own`;
  throw new TrlError('POLICY_DENIED', `Cannot use ${id}: ${reason}`);
}
