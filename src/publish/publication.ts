/**
 * The types of the publication gate: what leaves, for whom, what the gate checks it against, and
 * what it reports. This module has no behaviour.
 */
import type { PassageMatch } from './denied-index.ts';
import type { DeniedNames } from './denied-names.ts';

/** One thing that is to leave. */
export interface PublicationItem {
  /** Where it goes: a path of the publication, `stdout`, `stderr`, `commit message`. */
  readonly name: string;
  readonly kind: 'file' | 'output' | 'text';
  readonly bytes: Uint8Array;
}

/** What must not be in anything that an audience gets. */
export interface DeniedContent {
  /** Files by their path in the workspace, with the content that they have or had. */
  readonly files: AsyncIterable<{ readonly path: string; readonly bytes: Uint8Array }>;
  /** Paths and names that tell of them: `private/plan.md`, `@acme/secret-sauce`. */
  readonly names: readonly string[];
  /** Texts that are planted where nobody should read, found exactly and in any encoding. */
  readonly canaries: readonly string[];
}

/** From mildest to strictest. A `pass` may have findings: they say what was seen. */
export const gateDecisions = ['pass', 'review', 'block'] as const;
export type GateDecision = (typeof gateDecisions)[number];

export const gateRules = [
  /** A value that a source holds, in any encoding. */
  'secret.known',
  /** What has the form of a key, or stands where one does. */
  'secret.likely',
  'canary',
  /** A path that the audience must not see is to be published itself. */
  'denied.path',
  /** The name of a denied file or package is told. */
  'denied.name',
  /** Text of a denied file. */
  'denied.content',
  /** Its content is that of a denied file, byte by byte. */
  'denied.file',
  /** Nobody can look into it: a format that is not read, encrypted, too deep or too large. */
  'unscannable',
  /** A command that had more to read than the audience may see made it. */
  'interference',
] as const;
export type GateRule = (typeof gateRules)[number];

/** What only those may see who may read what was denied. */
export interface GateEvidence {
  /** The denied file, or the name of the secret. */
  readonly source: string;
  /** Bytes `[from, to)` of the item as it was given; `null`: inside of something decoded. */
  readonly span: readonly [number, number] | null;
  /** Lines of the denied file `[from, to]`, from 1; `null` where lines mean nothing. */
  readonly lines: readonly [number, number] | null;
  /** How it was decoded, outermost first: `tar`, `gzip`, `base64`, `json`, `diff`. */
  readonly via: readonly string[];
  /** At most 200 characters of what was found. */
  readonly text: string | null;
}

export interface GateFinding {
  readonly rule: GateRule;
  readonly decision: GateDecision;
  /** Name of the item, and of the member within it: `dist.tgz!/package/index.js`. */
  readonly item: string;
  /** Novel characters of denied content; `null` for exact rules. */
  readonly score: number | null;
  /** `t-` and 16 hex digits: by it an auditor finds the evidence in the audit log. */
  readonly trace: string;
  readonly evidence: GateEvidence;
}

export interface GateVerdict {
  readonly decision: GateDecision;
  /** Strictest first. */
  readonly findings: readonly GateFinding[];
  /**
   * `non-interference`: every command that made it could read nothing that the audience may not.
   * `scan`: nothing is known of that, or more could be read; only what was looked for is not there.
   */
  readonly basis: 'non-interference' | 'scan';
  readonly items: number;
  readonly bytes: number;
}

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
