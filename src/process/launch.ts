/** Launching takes nothing but an approved plan. */
import type { ApprovedPlan, KnownSecret } from '../command.ts';
import type { RunnerLink } from './link.ts';

/**
 * Starts the command; resolves when its shell was given the script. Its output does not show
 * `known`.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`
 */
export async function launch(
  link: RunnerLink,
  approved: ApprovedPlan,
  known: readonly KnownSecret[],
): Promise<void> {
  await link.request({ op: 'launch', ...link.seal(approved), known });
}
