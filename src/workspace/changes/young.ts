/**
 * What running commands made just now and is told later: a lock, a temporary file, half of a
 * rename. Most of it is gone before anybody has seen it.
 */
import type { BigIntStats } from 'node:fs';
import type { BytePath, StatKey } from '../../change.ts';
import { nameOf, parentOf } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import type { TreeCursor } from './cursor.ts';

/** What waits, and what stood in the real tree when it was first seen; `null`: nothing. */
export type Waiting = ReadonlyMap<BytePath, StatKey | null>;

export interface YoungGround {
  /** What was made later waits, Unix ns. */
  readonly sinceNs: bigint;
  readonly real: TreeCursor;
  /** What waits since the look before. */
  readonly before: Waiting;
}

export class Young {
  readonly waiting = new Map<BytePath, StatKey | null>();
  readonly #ground: YoungGround;

  constructor(ground: YoungGround) {
    this.#ground = ground;
  }

  /** Whether a new entry waits. What takes the place of something does not. */
  holds(path: BytePath, stat: BigIntStats): boolean {
    const isYoung = stat.birthtimeNs > this.#ground.sinceNs;
    if (!isYoung || this.#standing(path) !== null) return false;
    this.wait(path);
    return true;
  }

  wait(path: BytePath): void {
    const known = this.#ground.before.get(path);
    this.waiting.set(path, known === undefined ? this.#standing(path) : known);
  }

  #standing(path: BytePath): StatKey | null {
    const { real } = this.#ground;
    if (real.goto(parentOf(path)) !== 'here') return null;
    const stat = real.stat(nameOf(path));
    return stat === null ? null : statKey(stat);
  }
}

/** Whether somebody else changed a path while it waited, or made something below one. */
export function isOvertaken(waiting: Waiting, path: BytePath, key: StatKey | null): boolean {
  const first = waiting.get(path);
  if (first !== undefined) return first !== key;
  if (key === null || waiting.size === 0) return false;
  for (let at = parentOf(path); at !== ''; at = parentOf(at)) {
    if (waiting.get(at) === null) return true;
  }
  return false;
}
