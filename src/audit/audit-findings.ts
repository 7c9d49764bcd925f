/** What a check of a log found. */

export const auditFindingKinds = [
  /** An event is not what it was when the next one was written. */
  'event.changed',
  /** Events are missing, or are where they do not belong. */
  'event.order',
  /** A line that is neither event nor head, to the byte. */
  'line.unknown',
  /** Not signed by the key, or for another log. */
  'head.signature',
  /** It covers other events than those in the log. */
  'head.mismatch',
  /** Heads are missing, or are where they do not belong. */
  'head.order',
  /** Lines that no head covers, at the end. */
  'end.unfinished',
  /** A segment is missing, or begins with another event than its name says. */
  'segment.order',
  /** A head that was saved elsewhere covers more events than there are. */
  'log.truncated',
  /** A head that was saved elsewhere covers other events, or there is a second log of this id. */
  'log.forked',
  /** A head of it was saved elsewhere, and the log is missing. */
  'log.missing',
  'log.empty',
  'log.unreadable',
  /** A file that does not belong to a log. */
  'file.foreign',
  /** A torn write that was preserved was changed, or is missing. */
  'torn.changed',
  'torn.missing',
  /** A head that was saved elsewhere was signed by another key. */
  'key.changed',
] as const;
export type AuditFindingKind = (typeof auditFindingKinds)[number];

export interface AuditFinding {
  readonly kind: AuditFindingKind;
  /** File name of the segment; `null`: it is about no position. */
  readonly segment: string | null;
  /** Byte in the segment. */
  readonly offset: number | null;
  /** Of the event that it is about, or that follows it. */
  readonly seq: number | null;
  /** One sentence. */
  readonly text: string;
}

/** Of one log; further ones are only counted. */
export const auditFindingsMax = 100;

/** Collects the first findings; sorts them by position. */
export class AuditFindings {
  #all: AuditFinding[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(kind: AuditFindingKind, at: Partial<AuditFinding>, text: string): void {
    this.#count += 1;
    if (this.#all.length >= auditFindingsMax) return;
    const { segment = null, offset = null, seq = null } = at;
    this.#all.push({ kind, segment, offset, seq, text });
  }

  sorted(): AuditFinding[] {
    return this.#all.toSorted(
      (a, b) => order(a.segment, b.segment) || (a.offset ?? -1) - (b.offset ?? -1),
    );
  }
}

/** Findings without a position come last. */
function order(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}
