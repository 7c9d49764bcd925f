/** What a session changed in a git directory, as values: they are kept as JSON, to go on later. */
import type { BytePath, StatKey } from '../../change.ts';
import type { CommitItem } from '../commit/commit-item.ts';

/** `null`: there is none. An object id, or `ref: …` as it stands in the file. */
export type RefValue = string | null;

export interface RefChange {
  readonly name: string;
  /** What was last synced; absent: nobody knows. */
  readonly base?: RefValue;
  readonly now: RefValue;
  /** Commits of the host that the session's index was too old for. */
  readonly blind?: UnseenCommits | null;
  /** The session's own log of it ends elsewhere: a part of what its git wrote was not seen yet. */
  readonly isUnsure?: boolean;
}

/** What the host has changed between two commits, and a session's index does not know of. */
export interface UnseenCommits {
  readonly from: string;
  readonly to: string;
}

export interface LogChange {
  readonly git: BytePath;
  /** Of a ref, or `HEAD`. */
  readonly name: string;
  /** All lines of the session's log; `null`: it is gone. */
  readonly lines: readonly string[] | null;
  /** Lines that stood there before. */
  readonly before: readonly string[];
}

/** An index of a session, and the commit that its branch had then. */
export interface IndexBase {
  readonly commit: RefValue;
  /** Of its content. */
  readonly sha256: string;
  readonly blind: UnseenCommits | null;
}

/** What belongs to one worktree. */
export interface CheckoutChange {
  readonly git: BytePath;
  /** The text of `HEAD`, as it was last synced and as it is. */
  readonly head: { readonly base: string | null; readonly now: string | null };
  /** What the session takes the branch of `head.base` for; `null`: what the host has. */
  readonly seen: RefValue;
  /** The commits of both sides' `HEAD`, before anything is brought over. */
  readonly host: RefValue;
  readonly session: RefValue;
  /** The session is in the middle of a rebase. */
  readonly isRebasing: boolean;
  /** `null`: the session has none of its own, or `isWritten`. */
  readonly index: IndexBase | null;
  /** Its git is about to replace it: until then it is taken for what its commit says. */
  readonly isWritten: boolean;
  readonly blind: UnseenCommits | null;
  /** What the host's index was last given; `null`: nothing. */
  readonly last: IndexBase | null;
  /** Of the host's index, where nobody else has changed it. */
  readonly untouched: StatKey | null;
}

export interface GitPlan {
  /** Names what is set aside. */
  readonly label: string;
  readonly common: BytePath;
  readonly refs: readonly RefChange[];
  readonly logs: readonly LogChange[];
  readonly checkouts: readonly CheckoutChange[];
  /** Loose objects and packs: only added. */
  readonly objects: readonly CommitItem[];
}

/** What became of a ref, an index or a `HEAD`; `reason`: one word, and where it was put aside. */
export interface GitOutcome {
  readonly state: 'applied' | 'conflict';
  readonly reason: string | null;
  /** Of what it left, before anybody else could touch it. */
  readonly key?: StatKey | null;
  /** Where the host has something else than the session now: what it had, and what it has. */
  readonly reached?: { readonly from: Buffer; readonly to: Buffer };
}

/** A worktree that stays where it is, and the commit of the session that it does not follow. */
export interface AsideCheckout {
  readonly git: BytePath;
  readonly host: string;
  readonly session: string;
  readonly reason: string;
}

/** What a diverged change is reported with; the ref's name follows. */
export const divergedPrefix = 'diverged:';
