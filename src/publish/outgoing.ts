/** What leaves a workspace, with its bytes, and the bound on it. */
import type { BytePath } from '../change.ts';
import type { ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { PublicationItem } from './publication.ts';

/** One thing that leaves. The checked bytes are the bytes that leave. */
export interface OutgoingItem extends PublicationItem {
  /** Its path in the workspace; `null`: it is no file of the workspace. */
  readonly path: BytePath | null;
  /** The file to write at the destination; `null`: the item is only checked. */
  readonly file: {
    readonly path: BytePath;
    readonly type: 'file' | 'symlink';
    readonly mode: number;
  } | null;
  /** The command that made it, if known beforehand. */
  readonly exec?: ExecId;
}

/**
 * Something that cannot be examined. A person must approve it, and it does not leave as an {@link
 * OutgoingItem}.
 */
export interface UnscannedItem {
  readonly name: string;
  /** For people, the end of a sentence: `is a FIFO`. */
  readonly reason: string;
  /** Equal only for the same thing. */
  readonly key: string;
}

export interface OutgoingCollection {
  readonly items: readonly OutgoingItem[];
  readonly unread: readonly UnscannedItem[];
  /**
   * What the audience has from earlier; `null`: what it can see of the workspace. Read on demand.
   */
  readonly earlier: (() => AsyncIterable<EarlierFile>) | null;
}

export interface EarlierFile {
  /** For people: the path in the workspace, if it had one. */
  readonly path: BytePath;
  readonly bytes: Uint8Array;
  /** Whether the audience certainly has it. */
  readonly isPublished: boolean;
}

/** Bytes and items that one publication can still have. */
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

/** The target of a link leaves, and can disclose a name. Nobody follows the link. */
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
