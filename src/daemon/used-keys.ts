/**
 * Keys of calls that nothing else remembers any more, so that a call which is made again late, or
 * to another runtime than the first one, does not run again. On disk, for a day; as many of each
 * scope as `limits.usedKeys` says.
 */
import { limits } from '../limits.ts';
import type { StateStore } from '../session/store.ts';

export interface UsedKey {
  /** Within which the key is one: a session, or a caller. */
  readonly scope: string;
  readonly key: string;
  /** Tells the call from others, without what it says; absent for one of before. */
  readonly call?: string;
  /** What became of it. */
  readonly state: string;
  /** Unix ms. */
  readonly at: number;
}

export class UsedKeys {
  readonly #store: StateStore;
  /** By scope, then by key; oldest first. */
  readonly #all = new Map<string, Map<string, UsedKey>>();
  #size = 0;

  constructor(store: StateStore) {
    this.#store = store;
    const found = store.all('keys').map(({ json }): UsedKey => JSON.parse(json));
    for (const used of found.toSorted((a, b) => a.at - b.at)) this.#hold(used);
  }

  find(scope: string, key: string): UsedKey | null {
    const found = this.#all.get(scope)?.get(key);
    return found === undefined || isOld(found) ? null : found;
  }

  /** @throws TrlError `BACKEND_UNAVAILABLE` when it cannot be kept: then it is not */
  put(used: UsedKey): void {
    this.#store.put('keys', idOf(used), used);
    this.#hold(used);
  }

  forget(scope: string, key: string): void {
    const found = this.#all.get(scope)?.get(key);
    if (found !== undefined) this.#drop(found);
  }

  /** Nothing is called within it any more. */
  endScope(scope: string): void {
    for (const used of this.#all.get(scope)?.values() ?? []) this.#drop(used);
  }

  #hold(used: UsedKey): void {
    const own = this.#all.get(used.scope) ?? new Map<string, UsedKey>();
    this.#all.set(used.scope, own);
    if (!own.delete(used.key)) this.#size += 1;
    own.set(used.key, used);
    this.#prune(own, limits.usedKeysOfScope.default);
    for (const others of this.#all.values()) {
      if (this.#size <= limits.usedKeys.default) return;
      this.#prune(others, others.size - 1);
    }
  }

  #prune(own: ReadonlyMap<string, UsedKey>, most: number): void {
    for (const oldest of own.values()) {
      if (own.size <= most && !isOld(oldest)) return;
      this.#drop(oldest);
    }
  }

  #drop(used: UsedKey): void {
    const own = this.#all.get(used.scope);
    if (own?.delete(used.key) === true) this.#size -= 1;
    if (own?.size === 0) this.#all.delete(used.scope);
    this.#store.remove('keys', idOf(used));
  }
}

const isOld = ({ at }: UsedKey): boolean => Date.now() - at > limits.usedKeyMs.default;

const idOf = ({ scope, key }: UsedKey): string => `${scope} ${key}`;
