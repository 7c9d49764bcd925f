/** What an archive holds, as every reader of archives in this folder tells it. */

export interface ArchiveMember {
  /** As it stands there: it may hold `..`, a root, a line end. */
  readonly name: string;
  /** Of a link: where it leads to. Empty for a directory. */
  readonly bytes: Uint8Array;
  /** Why its content cannot be read; `bytes` is empty then, or what there is. */
  readonly unreadableReason: string | null;
  /** How the bytes were packed: `deflate`. */
  readonly packing: string | null;
}

export interface Archive {
  /** `null` is none: to find the next one takes longer. */
  readonly members: Iterable<ArchiveMember | null>;
  /** Ranges of the archive that no member and no structure takes; known once all were read. */
  readonly uncovered: () => readonly (readonly [number, number])[];
}

/** The ranges of `[0, length)` that none of `covered` takes. */
export function uncoveredRanges(
  covered: readonly (readonly [number, number])[],
  length: number,
): readonly (readonly [number, number])[] {
  const rest: [number, number][] = [];
  let at = 0;
  for (const [from, to] of covered.toSorted((a, b) => a[0] - b[0])) {
    if (from > at) rest.push([at, Math.min(from, length)]);
    at = Math.max(at, to);
  }
  if (at < length) rest.push([at, length]);
  return rest;
}
