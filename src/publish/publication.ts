/**
 * What leaves a workspace and for whom, what the gate checks it against, and what it reports:
 * types, and the bound on one publication.
 */
import type { BytePath } from '../change.ts';
import type { ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { DeniedNames } from './denied-names.ts';
import type { PassageMatch } from './match.ts';

export interface PublicationItem {
  /** The destination: a path of the publication, `stdout`, `stderr`, `commit message`. */
  readonly name: string;
  readonly kind: 'file' | 'output' | 'text';
  readonly bytes: Uint8Array;
}

/** What must not be in anything that an audience gets. */
export interface DeniedContent {
  /** Files by their path in the workspace, with their present or earlier content. */
  readonly files: AsyncIterable<{ readonly path: string; readonly bytes: Uint8Array }>;
  /** Paths and names that disclose them: `private/plan.md`, `@acme/secret-sauce`. */
  readonly names: readonly string[];
  /** Texts planted where no reader should be, found exactly and in any encoding. */
  readonly canaries: readonly string[];
}

/** From mildest to strictest. A `pass` can have findings, as information. */
export const gateDecisions = ['pass', 'review', 'block'] as const;
export type GateDecision = (typeof gateDecisions)[number];

export const gateRules = [
  /** A known value, in any encoding. */
  'secret.known',
  /** Text in the form of a key, or in the place of one. */
  'secret.likely',
  'canary',
  /** A path that the audience must not see is itself published. */
  'denied.path',
  /** The name of a denied file or package. */
  'denied.name',
  /** Text of a denied file. */
  'denied.content',
  /** The bytes of a denied file. */
  'denied.file',
  /**
   * The content cannot be examined: its format is not read, encrypted, nested too deeply or too
   * large.
   */
  'unscannable',
  /** A command that could read more than the audience may see made it. */
  'interference',
] as const;
export type GateRule = (typeof gateRules)[number];

/** Only for those who may read the denied content. */
export interface GateEvidence {
  /** The denied file, or the name of the secret. */
  readonly source: string;
  /** Bytes `[from, to)` of the original item; `null`: within decoded content. */
  readonly span: readonly [number, number] | null;
  /** Lines of the denied file `[from, to]`, from 1; `null` if it has no lines. */
  readonly lines: readonly [number, number] | null;
  /** The decodings, outermost first: `tar`, `gzip`, `base64`, `json`, `diff`. */
  readonly via: readonly string[];
  /** At most 200 characters of the match. */
  readonly text: string | null;
}

export interface GateFinding {
  readonly rule: GateRule;
  readonly decision: GateDecision;
  /** Name of the item, and of the member within it: `dist.tgz!/package/index.js`. */
  readonly item: string;
  /** Novel characters of denied content; `null` for exact rules. */
  readonly score: number | null;
  /** `t-` and 16 hex digits: the id of the evidence in the audit log. */
  readonly trace: string;
  readonly evidence: GateEvidence;
}

export interface GateVerdict {
  readonly decision: GateDecision;
  /** Strictest first. */
  readonly findings: readonly GateFinding[];
  /**
   * `non-interference`: no command that made it could read more than the audience may. `scan`: that
   * is unknown or wrong; the findings are only what the scan can detect.
   */
  readonly basis: 'non-interference' | 'scan';
  readonly items: number;
  readonly bytes: number;
}

/**
 * What the records say about the makers of an item. `none`: no command that took part in it could
 * read what the audience must not see, and nobody else wrote to it.
 */
export type Interference =
  | { readonly kind: 'none' }
  /** A command that took part in it could read denied content. */
  | { readonly kind: 'possible'; readonly reason: string }
  /** No record says who made it: it is a person's own file, or another program's. */
  | { readonly kind: 'unknown' };

export interface GateItem extends PublicationItem {
  /** Its path relative to the root of the workspace; `null`: it is no file of the workspace. */
  readonly path: string | null;
  readonly interference: Interference;
}

/** A known value, or text that looks like a secret. */
export interface SecretHit {
  /** Name of the secret, or kind of what it looks like. Never the value. */
  readonly name: string;
  readonly kind: 'known' | 'likely';
  /** Bytes `[from, to)` of the searched bytes. */
  readonly span: readonly [number, number];
  /** Confidence from 0 to 1. Known values have 1. */
  readonly score: number;
  /** Whether only its own characters suggest a secret, and nothing beside it. Default false. */
  readonly bare?: boolean;
}

/** What the gate checks items against. No callback may throw because of an item's content. */
export interface GateInput {
  readonly items: AsyncIterable<GateItem> | Iterable<GateItem>;
  /** Passages of denied files in a text: {@link matchDeniedText}, or `DeniedIndex.match`. */
  readonly match: (text: Uint8Array) => Promise<readonly PassageMatch[]> | readonly PassageMatch[];
  /** Path of the denied file with this SHA-256 (hex) that the audience cannot see. */
  readonly deniedFile: (sha256: string) => string | null;
  /** Whether the audience's rules deny a path of the workspace. */
  readonly isDenied: (path: string) => boolean;
  readonly names: DeniedNames;
  readonly canaries: readonly string[];
  readonly findSecrets: (bytes: Uint8Array) => Promise<readonly SecretHit[]> | readonly SecretHit[];
  /** The decision if a command could read denied content. Default `pass`: it is only reported. */
  readonly onInterference?: 'pass' | 'review' | 'block';
  /** Key of the trace ids, at least 16 bytes: equal findings in equal bytes have equal ids. */
  readonly traceKey: Uint8Array;
  /**
   * Trace ids of earlier checks with the same key that a person approved. An approval covers only
   * the same bytes, and never anything that is blocked.
   */
  readonly approved?: ReadonlySet<string>;
  /** Awaited after every few milliseconds of work. */
  readonly yieldToEventLoop: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** A finding for callers who must not see denied content. */
export interface DisclosedFinding extends Pick<GateFinding, 'rule' | 'decision' | 'trace'> {
  /** `null` if the name itself is a disclosure. */
  readonly item: string | null;
}

/** A verdict for callers who must not see denied content. */
export interface DisclosedVerdict extends Omit<GateVerdict, 'findings'> {
  readonly findings: readonly DisclosedFinding[];
}

/** A finding without its id. */
export interface UntracedFinding extends Omit<GateFinding, 'trace' | 'item' | 'evidence'> {
  /** Of the item and the member within it. */
  readonly name: string;
  readonly evidence: GateEvidence;
}

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
