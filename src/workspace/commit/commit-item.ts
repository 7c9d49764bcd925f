/** The types of commits: what to apply to the real tree, and the outcome. */
import type { BytePath, Entry, StatKey } from '../../change.ts';
import type { ContentStore } from '../../content-store.ts';
import type { GitPlan } from '../git-sync/ref-values.ts';
import type { AtomicRenames } from './atomic-renames.ts';

/** Where a content is: `path` below the directory `tree`, never through a link. */
export interface CommitSource {
  readonly tree: string;
  readonly path: BytePath;
}

/** One path to change. Values only: a list of these is kept as JSON, to go on after a crash. */
export interface CommitItem {
  readonly path: BytePath;
  /** The entry that the change replaces, and its key: any other entry stays. */
  readonly base: Entry | null;
  readonly baseKey: StatKey | null;
  readonly after: Entry | null;
  /** The new content of a file, and the key it had when it was read. */
  readonly source: CommitSource | null;
  readonly sourceKey: StatKey | null;
}

/** Why a path was not changed, one stable word each. */
const refusals = [
  /** Another writer changed it: that version stays. */
  'changed-meanwhile',
  /** The same, found between two records of an undo: only later changes are undone. */
  'changed-between',
  /** Another process has it open for writing. */
  'open-elsewhere',
  /** A directory that has something in it which is not ours to delete. */
  'not-empty',
  /** A directory on the way is missing, or has become a link. */
  'no-directory',
  /** The content is not kept, or was too large to keep. */
  'no-content',
  /** The earlier content was never known. */
  'before-unknown',
  /** A FIFO, socket or device, which is never made. */
  'special',
  /** The file system refused: no space, no permission, a name it does not take. */
  'refused',
] as const;
export type CommitRefusal = (typeof refusals)[number];

const refusalsByCode: ReadonlyMap<string, CommitRefusal> = new Map([
  ['EEXIST', 'changed-meanwhile'],
  ['ENOTEMPTY', 'not-empty'],
  ['ENOENT', 'no-directory'],
  ['ENOTDIR', 'no-directory'],
]);

/** What an error of the system means for a path. */
export const commitRefusalOf = (code: string): CommitRefusal | undefined =>
  refusalsByCode.get(code);

export type ItemResult =
  | {
      readonly path: BytePath;
      readonly state: 'applied';
      /** Of the entry there now; `null`: there is none. */
      readonly key: StatKey | null;
    }
  | {
      readonly path: BytePath;
      /** `conflict`: another writer's version stays. `failed`: the entry is unchanged. */
      readonly state: 'conflict' | 'failed';
      readonly reason: CommitRefusal;
      /** For people: what the system said. */
      readonly detail: string | null;
      /** Where an entry that another process made in that moment was set aside. */
      readonly keptAt: BytePath | null;
    };

/** The directory that is changed, and whose files are in it. */
export interface CommitTree {
  /** Absolute, without a link in it. */
  readonly root: string;
  /** Owner of what is new, where this process may give files away. */
  readonly uid: number;
  readonly gid: number;
}

export interface ApplyInput {
  readonly tree: CommitTree;
  /** 8 hex digits, new for each call: temporary names are `.trl-<id>-<n>`. */
  readonly id: string;
  readonly items: readonly CommitItem[];
  /** Used where a source is missing or was written meanwhile. */
  readonly contents: Pick<ContentStore, 'read'>;
  /** Contents by their SHA-256 that need not be read. */
  readonly atHand?: ReadonlyMap<string, Uint8Array>;
  /** Shared by all calls, as it keeps a program running. */
  readonly renames: AtomicRenames;
  /** After each time slice of ~5 ms. Must not throw. */
  readonly progress?: (done: number, all: number) => void;
}

/** Written durably before applying, dropped after: JSON. */
export interface CommitIntent {
  readonly id: string;
  readonly tree: CommitTree;
  readonly items: readonly CommitItem[];
  /** The changes of a git directory beside it. */
  readonly git?: GitPlan;
}

/** A change that was applied, as it was recorded. */
export interface UndoableChange {
  readonly path: BytePath;
  readonly before: Entry | null;
  readonly after: Entry | null;
  /** Of what applying it left; `null`: nothing, or it is not known any more. */
  readonly key: StatKey | null;
}

/** What an undo would do: `items` are for `applyChanges`, under an intent as any others. */
export interface UndoPlan {
  readonly items: readonly CommitItem[];
  /** What is not undone, and why; some of these paths are undone in part and are in `items` too. */
  readonly refused: readonly ItemResult[];
}
