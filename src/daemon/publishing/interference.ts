/**
 * What the records show about the commands that made the published content, and what these commands
 * could read.
 */
import {
  normalNetworkAccess,
  reachesNetwork,
  type RequestedNetwork,
} from '../../network-access.ts';
import type { BytePath } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import type { Interference, OutgoingItem } from '../../publish/publication.ts';
import type { ChangeRecord } from '../../host/port.ts';

/** What a command could read, as recorded when it ran. */
export interface CommandVisibility {
  readonly sandbox: 'bubblewrap' | 'none';
  readonly level: 'full' | 'root-uid' | 'none';
  readonly network: RequestedNetwork;
  /** The policy that decided which paths are hidden from everyone. */
  readonly policyVersion: string;
  /** Additional deny rules of its workspace and its session. */
  readonly deny: readonly string[];
  /** Paths outside the workspace that its session could see. */
  readonly shown: readonly string[];
}

export interface InterferenceInput {
  /** Records of the workspace, from all sessions. */
  readonly records: readonly ChangeRecord[];
  /** `null`: unknown by now. */
  readonly visibilityOf: (id: ExecId) => CommandVisibility | null;
  /** Policy rules for paths that must not reach the audience. */
  readonly denied: readonly string[];
  /** The current policy, and the paths that it hides from everyone. */
  readonly policy: { readonly version: string; readonly deny: readonly string[] };
}

/** All paths that any command changed, even if the change did not reach the real tree. */
export function pathsChangedBy(records: readonly ChangeRecord[]): ReadonlySet<BytePath> {
  return new Set(records.flatMap(({ changes }) => changes.map(({ path }) => path)));
}

/** Determines for each item whether the commands that made it could read denied content. */
export function interferenceBy(
  makers: InterferenceInput,
): (item: OutgoingItem, sha256: string) => Interference {
  const { records, visibilityOf } = makers;
  const writers = new Map<string, ChangeRecord[]>();
  for (const record of records) {
    for (const { path, after } of record.changes) {
      if (after?.type !== 'file' || after.sha256 === null) continue;
      const key = `${after.sha256} ${path}`;
      writers.set(key, [...(writers.get(key) ?? []), record]);
    }
  }
  const judged = new Map<ExecId, Interference>();
  const own = (exec: ExecId, record: ChangeRecord | null): Interference => {
    const known = judged.get(exec) ?? judgedBy(visibilityOf(exec), record, makers);
    judged.set(exec, known);
    return known;
  };
  /** When the first command with this kind of interference ended. */
  const firstEnd = (kind: Interference['kind']): number =>
    records.reduce(
      (first, one) => (own(one.exec, one).kind === kind ? Math.min(first, one.at) : first),
      Infinity,
    );
  let since: Readonly<Record<'possible' | 'unknown', number>> | null = null;
  const judge = (exec: ExecId, record: ChangeRecord | null): Interference => {
    const found = own(exec, record);
    if (found.kind !== 'none') return found;
    // A later command could read the visible files that an earlier one left.
    since ??= { possible: firstEnd('possible'), unknown: firstEnd('unknown') };
    const at = record?.at ?? Infinity;
    const reason = 'it could read what a command left that was shown more';
    if (since.possible < at) return { kind: 'possible', reason };
    return since.unknown < at ? { kind: 'unknown' } : found;
  };
  return (item, sha256) => {
    if (item.exec !== undefined) {
      const exec = item.exec;
      return judge(exec, records.find((record) => record.exec === exec) ?? null);
    }
    const all = writers.get(`${sha256} ${item.path}`) ?? [];
    if (item.path === null || all.length === 0) return { kind: 'unknown' };
    return strictest(all.map((record) => judge(record.exec, record)));
  };
}

function judgedBy(
  visibility: CommandVisibility | null,
  record: ChangeRecord | null,
  { denied, policy }: InterferenceInput,
): Interference {
  if (visibility === null) return { kind: 'unknown' };
  const possible = (reason: string): Interference => ({ kind: 'possible', reason });
  if (visibility.sandbox === 'none' || visibility.level === 'none') {
    return possible('it ran without sandbox');
  }
  if (reachesNetwork(normalNetworkAccess(visibility.network))) {
    return possible('it had the network');
  }
  if (visibility.shown.length > 0) return possible('it was shown more than its workspace');
  const general = visibility.policyVersion === policy.version ? policy.deny : [];
  const rules = new Set([...visibility.deny, ...general]);
  const missing = denied.filter((rule) => !rules.has(rule));
  if (missing.length > 0) return possible('it was shown what the audience is not');
  // Two scans show what changed, but not what was hidden.
  if (record !== null && record.method !== 'overlay') return possible('it had no projection');
  return { kind: 'none' };
}

function strictest(all: readonly Interference[]): Interference {
  return (
    all.find(({ kind }) => kind === 'possible') ??
    all.find(({ kind }) => kind === 'unknown') ?? { kind: 'none' }
  );
}
