/** What the gate is given for one check, and what it tells. This module holds no behaviour. */
import type { GateEvidence, GateFinding, GateVerdict, PublicationItem } from './publication.ts';
import type { PassageMatch } from './denied-index.ts';
import type { DeniedNames } from './denied-names.ts';

/**
 * What the record says of who made an item. `none`: each command that had a part in it could read
 * nothing that the audience must not see, and nobody else wrote to it.
 */
export type Interference =
  | { readonly kind: 'none' }
  /** A command had a part in it that could read what is denied. */
  | { readonly kind: 'possible'; readonly reason: string }
  /** No record says who made it: a person's own file, another program's. */
  | { readonly kind: 'unknown' };

export interface GateItem extends PublicationItem {
  /** Where it lies in the workspace, relative to its root; `null`: it is no file of it. */
  readonly path: string | null;
  readonly interference: Interference;
}

/** A value that was found, or something that looks like one. */
export interface SecretHit {
  /** Name of the secret, or kind of what it looks like. Never the value. */
  readonly name: string;
  readonly kind: 'known' | 'likely';
  /** Bytes `[from, to)` of what was searched. */
  readonly span: readonly [number, number];
  /** 0 to 1: how sure it is that this is one. Known values have 1. */
  readonly score: number;
  /** Whether its letters alone say so, and nothing beside it. Default false. */
  readonly bare?: boolean;
}

/** What the gate holds items against. None of the callbacks may throw for what is in an item. */
export interface GateInput {
  readonly items: AsyncIterable<GateItem> | Iterable<GateItem>;
  /** Passages of denied files in a text: `matchText` of `index.ts`, or `DeniedIndex.match`. */
  readonly match: (text: Uint8Array) => Promise<readonly PassageMatch[]> | readonly PassageMatch[];
  /** Path of the denied file that has this SHA-256 (hex) and that the audience does not see. */
  readonly deniedFile: (sha256: string) => string | null;
  /** Whether the audience's rules deny a path of the workspace. */
  readonly isDenied: (path: string) => boolean;
  readonly names: DeniedNames;
  readonly canaries: readonly string[];
  readonly findSecrets: (bytes: Uint8Array) => Promise<readonly SecretHit[]> | readonly SecretHit[];
  /** What it means that a command could read what is denied. Default `pass`: it is told. */
  readonly onInterference?: 'pass' | 'review' | 'block';
  /** Key of the trace ids, at least 16 bytes: equal findings in equal bytes have equal ids. */
  readonly traceKey: Uint8Array;
  /**
   * Trace ids of earlier checks with the same key that a person let pass. They hold for the same
   * bytes only, and never for what is blocked.
   */
  readonly approved?: ReadonlySet<string>;
  /** Awaited between pieces of work of some milliseconds. */
  readonly yieldToEventLoop: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** A finding for those who must not see what was denied. */
export interface DisclosedFinding extends Pick<GateFinding, 'rule' | 'decision' | 'trace'> {
  /** `null` where the name itself tells what is denied. */
  readonly item: string | null;
}

/** A verdict for those who must not see what was denied. */
export interface DisclosedVerdict extends Omit<GateVerdict, 'findings'> {
  readonly findings: readonly DisclosedFinding[];
}

/** A finding before it has an id. */
export interface UntracedFinding extends Omit<GateFinding, 'trace' | 'item' | 'evidence'> {
  /** Of the item, and of the member within it. */
  readonly name: string;
  readonly evidence: GateEvidence;
}
