/** Launching takes nothing but an approved plan. */
import type { ApprovedPlan } from '../command.ts';
import type { RunnerLink } from './link.ts';

/**
 * Starts the command; resolves when its shell was given the script.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`
 */
export async function launch(link: RunnerLink, approved: ApprovedPlan): Promise<void> {
  await link.request({ op: 'launch', ...link.seal(approved) });
}
