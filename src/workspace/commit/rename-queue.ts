/** Renames that wait to be carried out together, and where their temporary names are. */
import { closeSync, type BigIntStats } from 'node:fs';
import { joined, nameOf, parentOf } from '../byte-path.ts';
import { below } from '../descriptor.ts';
import type { ApplyInput, CommitItem } from './item.ts';
import type { AtomicRenames, Rename, Renamed } from './renames.ts';
import { openStaging } from './staging.ts';
import { removeOwn } from './standing.ts';

const renamesMax = 128;

export interface Queued {
  readonly item: CommitItem;
  readonly index: number;
  readonly kind: Rename['kind'];
  /** What is to stand there, as it was made; `null`: nothing. */
  readonly made: BigIntStats | null;
}

/** One that was carried out, or not. */
export interface Concluded extends Queued {
  readonly answer: Renamed;
  /** The way to the name, as long as the directory is held open. */
  readonly at: Buffer;
  /** Where something that somebody else made is kept, after `kept`. */
  readonly keptAt: string;
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
  #waiting: { readonly queued: Queued; readonly rename: Rename }[] = [];

  constructor({ id, renames, tree }: Pick<ApplyInput, 'id' | 'renames' | 'tree'>) {
    this.#id = id;
    this.#renames = renames;
    this.#staging = openStaging(renames.staging, tree.root);
    this.#isStaged = this.#staging !== null;
  }

  get isFull(): boolean {
    return this.#waiting.length >= renamesMax;
  }

  /** Where temporary names are now; `null`: in the directory of each path. */
  get staging(): number | null {
    return this.#isStaged ? this.#staging : null;
  }

  /** The way to the temporary name of an item in `directory`. */
  temporary(directory: number, index: number): Buffer {
    return below(this.staging ?? directory, temporaryName(this.#id, index));
  }

  /** @param directory stays open until {@link run} has answered */
  add(directory: number, queued: Queued): void {
    const { item, index, kind } = queued;
    const rename = {
      kind,
      directory,
      staging: this.staging,
      name: nameOf(item.path),
      temporary: temporaryName(this.#id, index),
      kept: `.trl-kept-${this.#id}-${index}`,
      key: item.baseKey ?? '',
    };
    this.#waiting.push({ queued, rename });
  }

  /** Carries them out. After `elsewhere`, what is added has its temporary name in the tree. */
  async run(): Promise<Concluded[]> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const answers = await this.#renames.run(waiting.map(({ rename }) => rename));
    if (answers.includes('elsewhere')) this.#isStaged = false;
    return waiting.map(({ queued, rename }, at) => {
      const answer = answers[at] ?? 'refused';
      const { directory, staging, temporary, name, kept } = rename;
      const { made, item } = queued;
      const isLeft = answer !== 'done' && made !== null;
      if (isLeft) removeOwn(below(staging ?? directory, temporary), made);
      const keptAt = joined(parentOf(item.path), kept);
      return { ...queued, answer, at: below(directory, name), keptAt };
    });
  }

  close(): void {
    if (this.#staging !== null) closeSync(this.#staging);
  }
}
