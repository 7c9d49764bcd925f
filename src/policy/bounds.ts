/**
 * What a session or a command may be given under a policy. Pure: what asks for more than a policy
 * gives is refused, what says nothing gets no more than it.
 */
import path from 'node:path';
import type { Bounds as CommandBounds, FileGrants } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits, type LimitName } from '../limits.ts';
import type { NetworkMode, Policy } from './policy.ts';

type Mode = 'foreground' | 'detached';
type BoundName = Exclude<keyof CommandBounds, 'graceMs' | 'memoryRequired'>;

const limitOf = {
  timeoutMs: { foreground: 'timeoutMs', detached: 'detachedTimeoutMs' },
  idleTimeoutMs: 'idleTimeoutMs',
  cpuSeconds: 'cpuSeconds',
  processesMax: 'processes',
  openFilesMax: 'openFiles',
  fileBytesMax: 'fileBytes',
  memoryBytesMax: 'memoryBytes',
  addressSpaceBytesMax: 'addressSpaceBytes',
  journalBytesMax: 'journalBytes',
} as const satisfies Record<BoundName, LimitName | Record<Mode, LimitName>>;

/**
 * The bounds of a command under the maxima of the policy. A bound that nobody asked for is
 * lowered to the maximum; memory that the policy bounds is enforced, or the command refused.
 *
 * @param asked names of the bounds that the call or the session asked for
 * @throws TrlError `POLICY_DENIED` when one that was asked for lies above its maximum, or is none
 */
export function boundsUnder(
  policy: Pick<Policy, 'name' | 'limits'>,
  bounds: CommandBounds,
  asked: ReadonlySet<keyof CommandBounds>,
  mode: Mode,
): CommandBounds {
  const under = <T extends number | null>(name: BoundName, value: T): T | number => {
    const limit = limitOf[name];
    const key = typeof limit === 'string' ? limit : limit[mode];
    const most = policy.limits[key];
    if (most === undefined || (value !== null && value <= most)) return value;
    if (!asked.has(name)) return most;
    const unit = limits[key].unit === 'count' ? '' : ` ${limits[key].unit}`;
    const wanted = value === null ? 'no bound' : `${value}${unit}`;
    throw refusal(`bound ${key} by ${wanted}`, policy.name, `gives at most ${most}${unit}`);
  };
  return {
    ...bounds,
    timeoutMs: under('timeoutMs', bounds.timeoutMs),
    idleTimeoutMs: under('idleTimeoutMs', bounds.idleTimeoutMs),
    cpuSeconds: under('cpuSeconds', bounds.cpuSeconds),
    processesMax: under('processesMax', bounds.processesMax),
    openFilesMax: under('openFilesMax', bounds.openFilesMax),
    fileBytesMax: under('fileBytesMax', bounds.fileBytesMax),
    memoryBytesMax: under('memoryBytesMax', bounds.memoryBytesMax),
    memoryRequired: bounds.memoryRequired || policy.limits.memoryBytes !== undefined,
    addressSpaceBytesMax: under('addressSpaceBytesMax', bounds.addressSpaceBytesMax),
    journalBytesMax: under('journalBytesMax', bounds.journalBytesMax),
  };
}

/** What becomes of a session that asks for this network. */
export function networkUnder(most: NetworkMode, asked: 'off' | 'on'): 'given' | 'ask' | 'refused' {
  if (asked === 'off' || most === 'on') return 'given';
  return most === 'ask' ? 'ask' : 'refused';
}

/** How names become paths of this host. */
export interface Place {
  readonly home: string;
  /** The real path of as much of an absolute path as exists. Must not throw. */
  readonly real: (name: string) => string;
}

/**
 * The grants of a session under the policy: each must lie in every list of the policy, as it is
 * written and where its links lead; what the policy denies is denied too.
 *
 * @throws TrlError `POLICY_DENIED` for a grant that a list does not hold
 */
export function grantsUnder(
  policy: Pick<Policy, 'name' | 'files'>,
  grants: FileGrants,
  place: Place,
): FileGrants {
  const { read, write, deny } = policy.files;
  const check = (
    entries: readonly string[],
    lists: readonly (readonly string[])[],
    verb: string,
  ) => {
    const outside = entries.find((entry) => !lists.every((list) => holds(list, entry, place)));
    if (outside !== undefined) {
      throw refusal(`grant ${verb} "${outside}"`, policy.name, 'does not list it');
    }
  };
  check(grants.read.allow, read, 'reading');
  check(grants.write.allow, write, 'writing');
  // What may be written is read as well.
  check(grants.write.allow, read, 'reading');
  return {
    read: { allow: grants.read.allow, deny: [...grants.read.deny, ...deny] },
    write: { allow: grants.write.allow, deny: [...grants.write.deny, ...deny] },
  };
}

/** A grant with wildcards is held by the same entry only: what it matches is not known here. */
function holds(list: readonly string[], entry: string, place: Place): boolean {
  if (list.includes(entry)) return true;
  if (isGlob(entry)) return false;
  const names = [absolute(entry, place), place.real(absolute(entry, place))];
  const trees = list.filter((one) => !isGlob(one)).map((one) => absolute(one, place));
  const roots = [...trees, ...trees.map((tree) => place.real(tree))];
  return names.every((name) => roots.some((root) => isInside(name, root)));
}

function absolute(entry: string, { home }: Place): string {
  const folded = entry === '~' || entry.startsWith('~/') ? home + entry.slice(1) : entry;
  const normal = path.posix.normalize(folded.replace(/\/\*\*$/, ''));
  return normal.length > 1 ? normal.replace(/\/$/, '') : normal;
}

const isGlob = (entry: string): boolean => /[*?[\]{}]/.test(entry.replace(/\/\*\*$/, ''));

const isInside = (name: string, tree: string): boolean =>
  name === tree || name.startsWith(tree === '/' ? '/' : `${tree}/`);

function refusal(action: string, name: string, reason: string): TrlError {
  return new TrlError('POLICY_DENIED', `Cannot ${action}: the policy "${name}" ${reason}`);
}
