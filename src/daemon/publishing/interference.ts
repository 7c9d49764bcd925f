/** What the records say of who made what leaves, and what they could read. */
import type { BytePath } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import type { Interference, OutgoingItem } from '../../publish/publication.ts';
import type { ChangeRecord } from '../../host/port.ts';

/** What one command could read, as it was recorded when it ran. */
export interface CommandVisibility {
  readonly sandbox: 'bubblewrap' | 'none';
  readonly level: 'full' | 'root-uid' | 'none';
  readonly network: 'off' | 'on';
  /** By it was decided what nobody is shown. */
  readonly policyVersion: string;
  /** Rules of what it was not shown besides: of its workspace, its session. */
  readonly deny: readonly string[];
  /** Paths besides the workspace that its session was shown. */
  readonly shown: readonly string[];
}

export interface InterferenceInput {
  /** Records of the workspace, of all sessions. */
  readonly records: readonly ChangeRecord[];
  /** `null`: it is not known any more. */
  readonly visibilityOf: (id: ExecId) => CommandVisibility | null;
  /** What must not reach the audience: rules, as policy has them. */
  readonly denied: readonly string[];
  /** The policy of now, and what it shows to nobody. */
  readonly policy: { readonly version: string; readonly deny: readonly string[] };
}

/** Every path that some command changed, whether or not it reached the real tree. */
export function pathsChangedBy(records: readonly ChangeRecord[]): ReadonlySet<BytePath> {
  return new Set(records.flatMap(({ changes }) => changes.map(({ path }) => path)));
}

/** Tells of each item whether those who made it could read what is denied. */
export function interferenceBy(
  makers: InterferenceInput,
): (item: OutgoingItem, sha256: string) => Interference {
  const { records, visibilityOf: sightOf } = makers;
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
    const known = judged.get(exec) ?? judgedBy(sightOf(exec), record, makers);
    judged.set(exec, known);
    return known;
  };
  /** When the first command ended of which this is said. */
  const firstEnd = (kind: Interference['kind']): number =>
    records.reduce(
      (first, one) => (own(one.exec, one).kind === kind ? Math.min(first, one.at) : first),
      Infinity,
    );
  let since: Readonly<Record<'possible' | 'unknown', number>> | null = null;
  const judge = (exec: ExecId, record: ChangeRecord | null): Interference => {
    const found = own(exec, record);
    if (found.kind !== 'none') return found;
    // What an earlier command left in the open, a later one could read there.
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
  sight: CommandVisibility | null,
  record: ChangeRecord | null,
  { denied, policy }: InterferenceInput,
): Interference {
  if (sight === null) return { kind: 'unknown' };
  const possible = (reason: string): Interference => ({ kind: 'possible', reason });
  if (sight.sandbox === 'none' || sight.level === 'none') return possible('it ran without sandbox');
  if (sight.network === 'on') return possible('it had the network');
  if (sight.shown.length > 0) return possible('it was shown more than its workspace');
  const general = sight.policyVersion === policy.version ? policy.deny : [];
  const rules = new Set([...sight.deny, ...general]);
  const missing = denied.filter((rule) => !rules.has(rule));
  if (missing.length > 0) return possible('it was shown what the audience is not');
  // Two scans tell what changed, not what was hidden.
  if (record !== null && record.method !== 'overlay') return possible('it had no projection');
  return { kind: 'none' };
}

function strictest(all: readonly Interference[]): Interference {
  return (
    all.find(({ kind }) => kind === 'possible') ??
    all.find(({ kind }) => kind === 'unknown') ?? { kind: 'none' }
  );
}
