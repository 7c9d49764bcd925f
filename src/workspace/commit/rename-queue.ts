/** Renames that wait to be carried out together, and where their temporary names are. */
import { type BigIntStats, closeSync } from 'node:fs';
import { baseNameOf, entryPathIn, joinPath, parentPathOf } from '../byte-path.ts';
import {
  type AtomicRenames,
  openStaging,
  type RenameRequest,
  type RenameResult,
} from './atomic-renames.ts';
import type { ApplyInput, CommitItem } from './commit-item.ts';
import { removeOwnTemporary } from './tree-path-resolver.ts';

const renamesMax = 128;

export interface QueuedRename {
  readonly item: CommitItem;
  readonly index: number;
  readonly kind: RenameRequest['kind'];
  /** What is to stand there, as it was made; `null`: nothing. */
  readonly made: BigIntStats | null;
}

/** One that was carried out, or not. */
export interface CompletedRename extends QueuedRename {
  readonly answer: RenameResult;
  /** The way to the name, as long as the directory is held open. */
  readonly at: Buffer;
  /** Where another process's entry is kept, after `kept`. */
  readonly keptAt: string;
}

/** On its way: nothing else is sent before it was concluded. */
interface Sent {
  readonly waiting: readonly Waiting[];
  readonly answers: Promise<readonly RenameResult[]>;
  /** Open until then. */
  readonly directories: readonly number[];
}

interface Waiting {
  readonly queued: QueuedRename;
  readonly rename: RenameRequest;
}

export function temporaryName(id: string, index: number): string {
  return `.trl-${id}-${index}`;
}

export class RenameQueue {
  readonly #id: string;
  readonly #renames: AtomicRenames;
  readonly #staging: number | null;
  /** Whether staging is of use for this tree: default ACLs and quotas may forbid it. */
  #isStaged: boolean;
  #waiting: Waiting[] = [];
  #sent: Sent | null = null;

  constructor({ id, renames, tree }: Pick<ApplyInput, 'id' | 'renames' | 'tree'>) {
    this.#id = id;
    this.#renames = renames;
    this.#staging = openStaging(renames.staging, tree.root);
    this.#isStaged = this.#staging !== null;
  }

  get isFull(): boolean {
    return this.#waiting.length >= renamesMax;
  }

  /** Whether all was carried out. */
  get isIdle(): boolean {
    return this.#waiting.length === 0 && this.#sent === null;
  }

  /** Where temporary names are now; `null`: in the directory of each path. */
  get staging(): number | null {
    return this.#isStaged ? this.#staging : null;
  }

  /** The way to the temporary name of an item in `directory`. */
  temporary(directory: number, index: number): Buffer {
    return entryPathIn(this.staging ?? directory, temporaryName(this.#id, index));
  }

  /** @param directory stays open until it is given to {@link send} */
  add(directory: number, queued: QueuedRename): void {
    const { item, index, kind } = queued;
    const rename = {
      kind,
      directory,
      staging: this.staging,
      name: baseNameOf(item.path),
      temporary: temporaryName(this.#id, index),
      fallbackName: `.trl-kept-${this.#id}-${index}`,
      key: item.baseKey ?? '',
    };
    this.#waiting.push({ queued, rename });
  }

  /**
   * Starts the queued renames, while more is prepared. The previous batch was concluded.
   *
   * @param directories are closed when it is done
   */
  send(directories: readonly number[]): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    if (waiting.length === 0) {
      for (const fd of directories) closeSync(fd);
      return;
    }
    const answers = this.#renames.run(waiting.map(({ rename }) => rename));
    this.#sent = { waiting, answers, directories };
  }

  /**
   * Waits for the running batch.
   *
   * @param tell called with each result while its directory is open; must not throw
   * @returns those to be added again, with temporary names in the tree
   */
  async conclude(tell: (one: CompletedRename) => void): Promise<readonly QueuedRename[]> {
    const sent = this.#sent;
    if (sent === null) return [];
    const answers = await sent.answers;
    this.#sent = null;
    if (answers.includes('elsewhere')) this.#isStaged = false;
    const again: QueuedRename[] = [];
    try {
      for (const [at, { queued, rename }] of sent.waiting.entries()) {
        const answer = answers[at] ?? 'refused';
        const { directory, staging, temporary, name, fallbackName: kept } = rename;
        const { made, item } = queued;
        const isLeft = answer !== 'done' && made !== null;
        if (isLeft) removeOwnTemporary(entryPathIn(staging ?? directory, temporary), made);
        const keptAt = joinPath(parentPathOf(item.path), kept);
        if (answer === 'elsewhere') again.push(queued);
        else tell({ ...queued, answer, at: entryPathIn(directory, name), keptAt });
      }
    } finally {
      for (const fd of sent.directories) closeSync(fd);
    }
    return again;
  }

  close(): void {
    if (this.#staging !== null) closeSync(this.#staging);
  }
}
