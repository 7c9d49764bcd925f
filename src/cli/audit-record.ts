/** What the command line does without a runtime, in the audit log. */
import type { AuditEvent } from '../audit/event.ts';
import { openAuditLog } from '../audit/open-log.ts';
import { version } from '../protocol/version.ts';
import { auditDirectory } from './audit-paths.ts';

/**
 * Resolves when the event is on disk.
 *
 * @param verb the words of the command line, as `audit reveal`
 * @throws TrlError `AUDIT_UNAVAILABLE`: then it must not happen
 */
export async function recordCliAction(
  verb: string,
  told: Pick<AuditEvent, 'kind' | 'exec' | 'data'>,
): Promise<void> {
  const about = { version: version(), pid: process.pid, verb: `trl ${verb}` };
  const log = await openAuditLog({ directory: auditDirectory(), about });
  try {
    const actor = `uid:${process.getuid?.() ?? 'unknown'}`;
    await log.append([{ ...told, at: Date.now(), actor }]);
  } finally {
    await log.close();
  }
}
