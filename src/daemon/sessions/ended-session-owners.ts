/**
 * The owners of sessions that have ended: the changes of their commands, and their records, still
 * belong to that caller. Only for callers with a token: the others see everything.
 */
import type { SessionId } from '../../command.ts';
import { limits } from '../../limits.ts';
import type { StateStore } from '../../session/store.ts';

/** As many as there may be sessions. */
const goneMax = limits.sessionRecords.default;
/** As long as what they changed can be undone. */
const keepMs = limits.snapshotKeepMs.default;

interface Gone {
  readonly owner: string;
  /** Unix ms. */
  readonly at: number;
}

export class EndedSessionOwners {
  readonly #store: StateStore;
  readonly #all = new Map<string, Gone>();

  constructor(store: StateStore) {
    this.#store = store;
    const oldest = Date.now() - keepMs;
    for (const { id, json } of store.all('owners')) {
      const gone: Gone = JSON.parse(json);
      if (gone.at > oldest) this.#all.set(id, gone);
      else store.remove('owners', id);
    }
  }

  of(id: SessionId): string | null {
    return this.#all.get(id)?.owner ?? null;
  }

  add(id: SessionId, owner: string): void {
    if (!owner.startsWith('token:')) return;
    const gone = { owner, at: Date.now() };
    this.#all.set(id, gone);
    this.#store.put('owners', id, gone);
    for (const oldest of this.#all.keys()) {
      if (this.#all.size <= goneMax) return;
      this.#all.delete(oldest);
      this.#store.remove('owners', oldest);
    }
  }
}
