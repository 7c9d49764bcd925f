/** What a check of a log found, in plain words. */

export const auditFindingKinds = [
  /** An event is not what it was when the next one was written. */
  'event.changed',
  /** Events lack, or are where they do not belong. */
  'event.order',
  /** A line that is neither event nor head, to the byte. */
  'line.unknown',
  /** Not signed by the key, or for another log. */
  'head.signature',
  /** It covers other events than those that are there. */
  'head.mismatch',
  /** Heads lack, or are where they do not belong. */
  'head.order',
  /** Lines that no head covers, at the end. */
  'end.unfinished',
  /** A segment lacks or begins with another event than it is named by. */
  'segment.order',
  /** A head that was kept elsewhere covers more events than there are. */
  'log.truncated',
  /** A head that was kept elsewhere covers other events, or there is a second log of this id. */
  'log.forked',
  /** A head of it was kept elsewhere, and it is not there. */
  'log.missing',
  'log.empty',
  'log.unreadable',
  /** A file that no log has. */
  'file.foreign',
  /** An end that was set aside is not what was set aside, or not there. */
  'torn.changed',
  'torn.missing',
  /** A head that was kept elsewhere was signed by another key. */
  'key.changed',
] as const;
export type AuditFindingKind = (typeof auditFindingKinds)[number];

export interface AuditFinding {
  readonly kind: AuditFindingKind;
  /** File name of the segment; `null`: it is about no place. */
  readonly segment: string | null;
  /** Byte in the segment. */
  readonly offset: number | null;
  /** Of the event that it is about, or before which it lies. */
  readonly seq: number | null;
  /** One sentence. */
  readonly text: string;
}

/** Kept of one log; what is more is counted. */
export const auditFindingsMax = 100;

/** Gathers the first findings, in order of place at the end. */
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

/** What has no place comes last. */
function order(a: string | null, b: string | null): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  return a < b ? -1 : 1;
}
