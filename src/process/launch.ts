/** Launching takes nothing but an approved plan. */
import type { ApprovedPlan } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import type { RunnerLink } from './runner-link.ts';

export interface LaunchOptions {
  /** Values that its output must not show. */
  readonly known: readonly KnownSecret[];
  /** Whether it is the runtime's own command, whose output is not sealed for auditors. */
  readonly own: boolean;
  /** The command starts when this resolves, and never if it rejects. `null`: it starts at once. */
  readonly committed: Promise<unknown> | null;
}

/**
 * Starts the command; resolves when its shell has the script. Before `committed` resolves, the
 * runner prepares everything.
 *
 * @throws TrlError `SANDBOX_UNAVAILABLE`, `QUOTA_EXCEEDED`, `BACKEND_UNAVAILABLE`, and what
 *   `committed` rejects with
 */
export async function launch(
  link: RunnerLink,
  approved: ApprovedPlan,
  { known, own, committed }: LaunchOptions,
): Promise<void> {
  const { exec_id } = approved.plan;
  if (committed === null || !link.canPrepare) {
    await committed;
    await link.request('launch', { ...link.seal(approved), known, own });
    return;
  }
  const launched = link.request('launch', { ...link.seal(approved), known, own, hold: true });
  launched.catch(() => {});
  const [permit] = await Promise.allSettled([committed]);
  const start = permit.status === 'fulfilled';
  // If it fails, the launch that waits for it fails, too.
  link.request('permit', { exec_id, start }).catch(() => {});
  const [started] = await Promise.allSettled([launched]);
  if (permit.status === 'rejected') throw permit.reason;
  if (started.status === 'rejected') throw started.reason;
}
