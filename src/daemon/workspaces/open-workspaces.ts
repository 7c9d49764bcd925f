/** Workspaces that callers opened, with their rules; a session names one by its id. */
import type { WorkspaceMode } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { fairShareRefusal } from '../../limits.ts';
import type { WorkspaceId } from '../../api/answer-fields.ts';
import type { StateStore } from '../../session/store.ts';

export interface OpenWorkspace {
  readonly id: WorkspaceId;
  /** Real path. */
  readonly path: string;
  readonly mode: WorkspaceMode;
  /** Rules in addition to the runtime's policy. */
  readonly read: { readonly allow: readonly string[]; readonly deny: readonly string[] };
  readonly write: { readonly deny: readonly string[] };
  /** The actor that opened it; absent in records from an earlier version, without tokens. */
  readonly owner?: string;
}

const openMax = 1_000;

export class OpenWorkspaces {
  readonly #store: StateStore;
  readonly #all = new Map<string, OpenWorkspace>();

  constructor(store: StateStore) {
    this.#store = store;
    for (const { json } of store.all('workspaces')) {
      const record: OpenWorkspace = JSON.parse(json);
      this.#all.set(record.id, record);
    }
  }

  /** @throws TrlError `QUOTA_EXCEEDED` */
  add(record: OpenWorkspace): void {
    if (this.#all.size >= openMax) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot open a workspace: ${openMax} are open`);
    }
    const owners = [...this.#all.values()].map(({ owner = '' }) => owner);
    const taken = fairShareRefusal(owners, record.owner ?? '', openMax);
    if (taken !== null) {
      throw new TrlError('QUOTA_EXCEEDED', `Cannot open a workspace: ${taken} open workspaces`);
    }
    this.#all.set(record.id, record);
    this.#store.put('workspaces', record.id, record);
  }

  /** The actor that opened it; `null`: unknown. */
  ownerOf(id: string): string | null {
    return this.#all.get(id)?.owner ?? null;
  }

  /** @throws TrlError `INVALID_PARAMS` */
  get(id: string): OpenWorkspace {
    const found = this.#all.get(id);
    if (found !== undefined) return found;
    throw new TrlError('INVALID_PARAMS', `Cannot find workspace "${id}": nobody opened it`);
  }
}
