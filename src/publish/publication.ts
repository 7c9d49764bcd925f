/**
 * The words of the publication gate: what is to leave, for whom, and what was found in it. This
 * module holds no behaviour.
 */

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
