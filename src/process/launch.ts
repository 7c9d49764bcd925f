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

/** Has one sandbox of the plan's shape made ahead; the plan itself does not run. */
export async function prepare(link: RunnerLink, approved: ApprovedPlan): Promise<void> {
  await link.request({ op: 'prepare', ...link.seal(approved) });
}
