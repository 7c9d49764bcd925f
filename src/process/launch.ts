/** Launching takes nothing but an approved plan. */
import type { ApprovedPlan } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import type { RunnerLink } from './link.ts';

/**
 * Starts the command; resolves when its shell was given the script. Its output does not show
 * `known`. `own`: the runtime's own, whose output no auditor asked for, so it is not sealed.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`
 */
export async function launch(
  link: RunnerLink,
  approved: ApprovedPlan,
  { known, own = false }: { readonly known: readonly KnownSecret[]; readonly own?: boolean },
): Promise<void> {
  await link.request({ op: 'launch', ...link.seal(approved), known, own });
}
