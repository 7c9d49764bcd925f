/** Launching takes nothing but an approved plan. */
import type { ApprovedPlan } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import type { RunnerLink } from './runner-link.ts';

export interface LaunchOptions {
  /** What its output must not show. */
  readonly known: readonly KnownSecret[];
  /** Whether it is the runtime's own, whose output no auditor asked for, so it is not sealed. */
  readonly own: boolean;
  /** Nothing of it runs before this settles, or where it rejects. `null`: it starts at once. */
  readonly committed: Promise<unknown> | null;
}

/**
 * Starts the command; resolves when its shell was given the script. While it is not permitted yet
 * the runner makes everything ready.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`, and what
 *   `permitted` rejects with
 */
export async function launch(
  link: RunnerLink,
  approved: ApprovedPlan,
  { known, own, committed: permitted }: LaunchOptions,
): Promise<void> {
  const { exec_id } = approved.plan;
  if (permitted === null || !link.canPrepare) {
    await permitted;
    await link.request('launch', { ...link.seal(approved), known, own });
    return;
  }
  const launched = link.request('launch', { ...link.seal(approved), known, own, hold: true });
  launched.catch(() => {});
  const [permit] = await Promise.allSettled([permitted]);
  const start = permit.status === 'fulfilled';
  // Where it failed, so does the launch that waits for it.
  link.request('permit', { exec_id, start }).catch(() => {});
  const [started] = await Promise.allSettled([launched]);
  if (permit.status === 'rejected') throw permit.reason;
  if (started.status === 'rejected') throw started.reason;
}
