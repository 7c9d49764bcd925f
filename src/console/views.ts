/** The views: one row each. A view is a folder; its row says how it is reached. */
import type { ComponentType } from 'preact';
import { Approvals } from './approvals/approvals.tsx';
import { Audit } from './audit/audit.tsx';
import { Changes } from './changes/changes.tsx';
import { Command } from './command/command.tsx';
import { heldCount, pending, secretRequests } from './live/store.ts';
import { Metrics } from './metrics/metrics.tsx';
import { Overview } from './overview/overview.tsx';
import { PolicyTester } from './policy/policy.tsx';
import { Secrets } from './secrets/secrets.tsx';

export interface View {
  /** In the address. */
  readonly name: string;
  readonly title: string;
  /** Behind `g`; `null`: it is no place of its own in the list of views. */
  readonly letter: string | null;
  /** How much waits there for a person; absent: nothing ever does. */
  readonly waiting?: () => number;
  readonly show: ComponentType<{ readonly rest: string }>;
}

export const views: readonly View[] = [
  { name: 'overview', title: 'Overview', letter: 'o', show: Overview },
  {
    name: 'approvals',
    title: 'Approvals',
    letter: 'a',
    waiting: () => pending.value.length,
    show: Approvals,
  },
  {
    name: 'secrets',
    title: 'Secrets',
    letter: 's',
    waiting: () => secretRequests.value.length,
    show: Secrets,
  },
  {
    name: 'changes',
    title: 'Changes',
    letter: 'c',
    waiting: () => heldCount.value,
    show: Changes,
  },
  { name: 'audit', title: 'Audit', letter: 'l', show: Audit },
  { name: 'policy', title: 'Policy', letter: 'p', show: PolicyTester },
  { name: 'metrics', title: 'Metrics', letter: 'm', show: Metrics },
  { name: 'command', title: 'Command', letter: null, show: Command },
];
