/**
 * Entries that running commands created or deleted just now, which a later capture reports: a lock,
 * a temporary file, half of a rename, a file that is being replaced. Most of them are gone before
 * anybody has seen them.
 */
import type { BigIntStats } from 'node:fs';
import type { BytePath, StatKey } from '../../change.ts';
import { baseNameOf, parentPathOf } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import type { TreeCursor } from './tree-cursor.ts';

/** The key time of the real entry when the change was first seen, Unix ns; `null`: none. */
export interface FirstSeen {
  readonly key: StatKey | null;
  readonly ns: bigint;
}

export type DeferredPaths = ReadonlyMap<BytePath, FirstSeen>;

interface RecentWritesContext {
  /** Later changes wait, Unix ns. */
  readonly sinceNs: bigint;
  readonly nowNs: bigint;
  readonly real: TreeCursor;
  /** The paths that wait since the previous capture. */
  readonly before: DeferredPaths;
}

export class RecentWrites {
  readonly deferred = new Map<BytePath, FirstSeen>();
  readonly #context: RecentWritesContext;

  constructor(context: RecentWritesContext) {
    this.#context = context;
  }

  /** Whether a new entry waits. A replacement does not. */
  isDeferred(path: BytePath, stat: BigIntStats): boolean {
    const isYoung = stat.birthtimeNs > this.#context.sinceNs;
    if (!isYoung || this.#current(path) !== null) return false;
    this.defer(path);
    return true;
  }

  /** Whether something was seen to be gone only now: a new one may be about to take its place. */
  isJustGone(path: BytePath): boolean {
    const known = this.#context.before.get(path);
    return known === undefined || known.ns > this.#context.sinceNs;
  }

  defer(path: BytePath): void {
    const { before, nowNs } = this.#context;
    this.deferred.set(path, before.get(path) ?? { key: this.#current(path), ns: nowNs });
  }

  #current(path: BytePath): StatKey | null {
    const { real } = this.#context;
    if (real.goto(parentPathOf(path)) !== 'here') return null;
    const stat = real.stat(baseNameOf(path));
    return stat === null ? null : statKey(stat);
  }
}

/** Whether another process changed a path while it waited, or created an entry below one. */
export function isOvertakenWhileDeferred(
  waiting: DeferredPaths,
  path: BytePath,
  key: StatKey | null,
): boolean {
  const first = waiting.get(path);
  if (first !== undefined) return first.key !== key;
  if (key === null || waiting.size === 0) return false;
  for (let at = parentPathOf(path); at !== ''; at = parentPathOf(at)) {
    if (waiting.get(at)?.key === null) return true;
  }
  return false;
}
