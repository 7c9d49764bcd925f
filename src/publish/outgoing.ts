/** What leaves a workspace, with its bytes, and the bound of it. */
import type { BytePath } from '../change.ts';
import type { ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { PublicationItem } from './publication.ts';

/** One thing that leaves, with its bytes: what is looked at is what leaves. */
export interface OutgoingItem extends PublicationItem {
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

/**
 * What cannot be looked into. It needs a person's yes, and does not leave by {@link OutgoingItem}.
 */
export interface UnscannedItem {
  readonly name: string;
  /** For people, the end of a sentence: `is a FIFO`. */
  readonly reason: string;
  /** Equal for the same thing only. */
  readonly key: string;
}

export interface OutgoingCollection {
  readonly items: readonly OutgoingItem[];
  readonly unread: readonly UnscannedItem[];
  /** What the audience has from before; `null`: what it sees of the workspace. Read when asked. */
  readonly earlier: (() => AsyncIterable<EarlierFile>) | null;
}

export interface EarlierFile {
  /** For people; where it lay in the workspace, if it did. */
  readonly path: BytePath;
  readonly bytes: Uint8Array;
  /** Whether the audience has it for certain, and not only might. */
  readonly isPublished: boolean;
}

/** Bytes and items that one publication may still have. */
export class PublicationBudget {
  #bytes: number = limits.publicationBytes.default;
  #items: number = limits.publicationItems.default;

  get bytes(): number {
    return this.#bytes;
  }

  /** @throws TrlError `QUOTA_EXCEEDED` */
  take(bytes: number): void {
    this.#bytes -= bytes;
    this.#items -= 1;
    if (this.#bytes >= 0 && this.#items >= 0) return;
    const { publicationBytes, publicationItems } = limits;
    const most = `${publicationItems.default} files and ${publicationBytes.default} bytes`;
    throw new TrlError('QUOTA_EXCEEDED', `Cannot look at all of it: at most ${most} at once`);
  }
}

/** Of a link its target leaves, which may tell a name; where it leads nobody follows. */
export function makeLinkItem(path: BytePath, target: Buffer, mode = 0o777): OutgoingItem {
  const file = { path, type: 'symlink', mode } as const;
  return {
    name: Buffer.from(path, 'latin1').toString('utf8'),
    kind: 'text',
    bytes: target,
    path,
    file,
  };
}
