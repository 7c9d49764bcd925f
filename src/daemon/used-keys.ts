/**
 * Keys of calls that no other record contains any more, so that a call does not run twice if it is
 * repeated late, or sent to another runtime. Each key stays on disk for a day, up to
 * `limits.usedKeys` keys per scope.
 */
import { limits } from '../limits.ts';
import type { StateStore } from '../session/store.ts';

export interface UsedKey {
  /** Where the key is unique: a session, or a caller. */
  readonly scope: string;
  readonly key: string;
  /** Identifies the call without its content; absent in records from an earlier version. */
  readonly call?: string;
  /** The result of the call. */
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
    for (const used of found.toSorted((a, b) => a.at - b.at)) this.#add(used);
  }

  find(scope: string, key: string): UsedKey | null {
    const found = this.#all.get(scope)?.get(key);
    return found === undefined || isOld(found) ? null : found;
  }

  /**
   * @throws TrlError `BACKEND_UNAVAILABLE` if the key cannot be stored; it is then not in memory
   *   either
   */
  put(used: UsedKey): void {
    this.#store.put('keys', idOf(used), used);
    this.#add(used);
  }

  forget(scope: string, key: string): void {
    const found = this.#all.get(scope)?.get(key);
    if (found !== undefined) this.#remove(found);
  }

  /** Removes a scope in which no further call can happen. */
  endScope(scope: string): void {
    for (const used of this.#all.get(scope)?.values() ?? []) this.#remove(used);
  }

  #add(used: UsedKey): void {
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
      this.#remove(oldest);
    }
  }

  #remove(used: UsedKey): void {
    const own = this.#all.get(used.scope);
    if (own?.delete(used.key) === true) this.#size -= 1;
    if (own?.size === 0) this.#all.delete(used.scope);
    this.#store.remove('keys', idOf(used));
  }
}

const isOld = ({ at }: UsedKey): boolean => Date.now() - at > limits.usedKeyMs.default;

const idOf = ({ scope, key }: UsedKey): string => `${scope} ${key}`;
