/** Records and contents on this machine, and the way back. */
import { readVisibility } from '../workspace/projection/visibility.ts';
import { pathSelector } from '../workspace/byte-path.ts';
import type { BytePath } from '../change.ts';
import type { ExecId } from '../command.ts';
import type { ContentStore } from '../content-store.ts';
import type { ChangeHistory, ChangeRecord, HistoryStats, UndoResult, UndoRequest } from './port.ts';
import { restoreToRecord, undoRecord, type UndoOptions } from './restore.ts';
import type { Workspaces } from './workspaces.ts';

export class LocalHistory implements ChangeHistory {
  readonly #parts: Workspaces;

  constructor(parts: Workspaces) {
    this.#parts = parts;
  }

  records(): Promise<readonly ChangeRecord[]> {
    return this.#parts.stores.records();
  }

  async record(exec: ExecId): Promise<ChangeRecord> {
    return (await this.#parts.stores.find(exec)).record;
  }

  contents(): Promise<Pick<ContentStore, 'has' | 'read'>> {
    return this.#parts.stores.contents();
  }

  async stats(): Promise<HistoryStats> {
    const store = await this.#parts.stores.own();
    const { liveBytes: bytes, contents, records, droppedRecords } = store.stats();
    return { bytes, contents, records, droppedRecords };
  }

  undo(record: ChangeRecord, how: UndoRequest): Promise<UndoResult> {
    return undoRecord(this.#parts, record, this.#how(record, how));
  }

  restore(
    record: ChangeRecord,
    how: UndoRequest & { readonly inclusive: boolean },
  ): Promise<UndoResult> {
    const { inclusive } = how;
    return restoreToRecord(this.#parts, record, { ...this.#how(record, how), inclusive });
  }

  #how({ root }: ChangeRecord, { paths, deny, dryRun }: UndoRequest): UndoOptions {
    const isSelected = pathSelector(paths);
    const { home } = this.#parts;
    const denied = deny.length === 0 ? null : readVisibility({ allow: [], deny }, { root, home });
    const isMeant = (path: BytePath): boolean => isSelected(path) && denied?.hides(path) !== true;
    return { isMeant, dryRun };
  }
}
