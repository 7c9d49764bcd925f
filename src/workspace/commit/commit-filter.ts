/** The words of the commit filter: what it is asked, and why it holds a change. */
import type { BytePath, Entry } from '../../change.ts';
import type { IssuedTags } from '../../redacted.ts';
import type { FileEntry } from '../merge/current-file.ts';

/** Why a change does not reach the real tree until a person says yes. */
const heldReasons = [
  'git-hooks',
  'git-config',
  /** A repository that a command made and from which git would run something. */
  'new-repository',
  /** Git sees a projection, which nothing may be written back from. */
  'projected-repository',
  'editor-tasks',
  'shell-startup',
  'package-manager',
  'agent-configuration',
  'own-policy',
  /** Policy denies writing it. */
  'denied',
  /** A name that policy keeps from the session, whether or not anything is there. */
  'reserved',
  'link-escape',
  'set-uid',
  'set-gid',
  'device',
  'special',
  /** Its content has a tag that was given out in the place of a secret. */
  'redaction-tag',
  /** It takes away a content that undo does not have. */
  'no-undo',
  'too-many',
  'too-large',
] as const;
export type HeldReason = (typeof heldReasons)[number];

/** Longer files are no text that somebody writes back. */
export const taggedFileBytesMax = 4 * 1024 * 1024;

/** What is judged: one path of a command's changes. */
export interface JudgedChange {
  readonly path: BytePath;
  readonly before: Entry | null;
  readonly after: Entry | null;
}

/** How the filter looks at what it judges. No answer follows a link. */
export interface FilterLookup {
  /** What stands in the real tree. */
  real(path: BytePath): Entry | null;
  /**
   * The start of a regular file's content, bytes as latin1: `real` in the real tree, `after` as
   * the session has it. `null` where it is no file, cannot be read, or is longer than `bytesMax`.
   */
  text(path: BytePath, side: 'real' | 'after', bytesMax: number): Promise<string | null>;
  /** Whether what a file was before can come back, or need not. Default: all can. */
  isKept?(path: BytePath, before: FileEntry): boolean;
}

export interface FilterInput {
  /** The workspace as the session sees it, absolute, no link in it. */
  readonly root: string;
  /** Whether policy denies writing a path. What is below a denied one is denied. */
  readonly isDenied: (path: BytePath) => boolean;
  /** Whether policy keeps a path from the session, there or not. The same holds below it. */
  readonly isReserved: (path: BytePath) => boolean;
  /** Whether an absolute path outside leads to what every sandbox shows read-only. */
  readonly isSystem: (target: BytePath) => boolean;
  /** Paths whose built-in protection an operator has lifted, with what is below them. */
  readonly lifted: readonly BytePath[];
  /** Of the person on the host: what its start-up files and git's configuration lead to. */
  readonly home: string;
  /** Git directories that were there when the session was opened. */
  readonly gitDirectories: readonly BytePath[];
  /** Protected names that were links then. */
  readonly links: readonly BytePath[];
  readonly isProjectedGit: boolean;
  /** What may not come into a file: whoever wrote it back has lost the value. */
  readonly tags: IssuedTags;
  readonly changesMax: number;
  readonly bytesMax: number;
}

/** Holds what may not silently reach the real tree. */
export interface CommitFilter {
  /**
   * The changes to hold and why; what is missing in the answer may be applied.
   *
   * @param changes in byte order of their paths
   */
  judge(changes: readonly JudgedChange[], look: FilterLookup): Promise<Map<BytePath, HeldReason>>;
  /** Whether a part of a change of this path may pass though the change is held. */
  hasHarmlessPart(path: BytePath): boolean;
  /** What would stand at such a path with that part of a change alone; `null`: there is none. */
  harmlessPart(path: BytePath, before: string, after: string): string | null;
  /** What is written with tags, with the values of before in their places; see `tag-values.ts`. */
  restoreTagValues(before: string, after: string): string | null;
}
