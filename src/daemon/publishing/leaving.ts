/** The words of what leaves a workspace. This module holds no behaviour. */
import type { BytePath } from '../../change.ts';
import type { ExecId } from '../../command.ts';
import type { Item } from '../../publish/publication.ts';

/** One thing that leaves, with its bytes: what is looked at is what leaves. */
export interface Leaving extends Item {
  /** Where it lies in the workspace; `null`: it is no file of it. */
  readonly path: BytePath | null;
  /** What is written where it is published; `null`: it is looked at only. */
  readonly file: {
    readonly path: BytePath;
    readonly type: 'file' | 'symlink';
    readonly mode: number;
  } | null;
  /** The command that made it, where that is known beforehand. */
  readonly exec?: ExecId;
}

/** What cannot be looked into. It needs a person's yes, and does not leave by {@link Leaving}. */
export interface Unread {
  readonly name: string;
  /** For people, the end of a sentence: `is a FIFO`. */
  readonly reason: string;
  /** Equal for the same thing only. */
  readonly key: string;
}

export interface Collection {
  readonly items: readonly Leaving[];
  readonly unread: readonly Unread[];
  /** What the audience has from before; `null`: what it sees of the workspace. Read when asked. */
  readonly earlier: (() => AsyncIterable<EarlierFile>) | null;
}

export interface EarlierFile {
  /** For people; where it lay in the workspace, if it did. */
  readonly path: BytePath;
  readonly bytes: Uint8Array;
  /** Whether the audience has it for certain, and not only might. */
  readonly isOut: boolean;
}
