/** The views: one row each. A view is a folder; its row describes how it is reached. */
import type { ComponentType } from 'preact';
import { ApprovalsPage } from './approvals/approvals.tsx';
import { AuditPage } from './audit/audit.tsx';
import { ChangesPage } from './changes/changes.tsx';
import { CommandPage } from './command/command.tsx';
import { heldChangeCount, pendingApprovals, secretRequests } from './live/store.ts';
import { MetricsPage } from './metrics/metrics.tsx';
import { NetworkPage } from './network/network.tsx';
import { OverviewPage } from './overview/overview.tsx';
import { PolicyPage } from './policy/policy.tsx';
import { SecretsPage } from './secrets/secrets.tsx';

export interface ConsolePage {
  /** Name in the address. */
  readonly name: string;
  readonly title: string;
  /** Letter after `g`; `null`: it is not in the list of views. */
  readonly letter: string | null;
  /** Number of pending items; absent: it never has any. */
  readonly waiting?: () => number;
  readonly show: ComponentType<{ readonly rest: string }>;
}

export const consolePages: readonly ConsolePage[] = [
  { name: 'overview', title: 'Overview', letter: 'o', show: OverviewPage },
  {
    name: 'approvals',
    title: 'Approvals',
    letter: 'a',
    waiting: () => pendingApprovals.value.length,
    show: ApprovalsPage,
  },
  {
    name: 'secrets',
    title: 'Secrets',
    letter: 's',
    waiting: () => secretRequests.value.length,
    show: SecretsPage,
  },
  {
    name: 'changes',
    title: 'Changes',
    letter: 'c',
    waiting: () => heldChangeCount.value,
    show: ChangesPage,
  },
  { name: 'network', title: 'Network', letter: 'n', show: NetworkPage },
  { name: 'audit', title: 'Audit', letter: 'l', show: AuditPage },
  { name: 'policy', title: 'Policy', letter: 'p', show: PolicyPage },
  { name: 'metrics', title: 'Metrics', letter: 'm', show: MetricsPage },
  { name: 'command', title: 'Command', letter: null, show: CommandPage },
];
