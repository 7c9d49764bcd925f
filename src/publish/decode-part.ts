/** Parts of an item: where each is, and the bounds of the work to find them. */
import { hash } from 'node:crypto';

/** Bytes that can be searched, or whose digest can at least be compared. */
export interface DecodedPart {
  readonly kind: 'part';
  /** The item, and members within it: `dist.tgz!/package/index.js`. */
  readonly name: string;
  /** The decodings that led to it, outermost first. */
  readonly via: readonly string[];
  readonly bytes: Uint8Array;
  /** Whether to search it. Binary data has its texts as parts of their own. */
  readonly text: boolean;
  /** Whether it is the item or a member, unchanged: a file whose digest identifies it. */
  readonly whole: boolean;
  /**
   * Bytes `[from, to)` of the item that contain it, encoded or not; `null`: it is a member of an
   * archive.
   */
  readonly span: readonly [number, number] | null;
}

export interface Unscannable {
  readonly kind: 'unscannable';
  readonly name: string;
  readonly via: readonly string[];
  /** One clause: `encrypted`, `xz is not read`. */
  readonly reason: string;
  readonly span: readonly [number, number] | null;
}

export interface PartLocation {
  readonly name: string;
  readonly via: readonly string[];
  readonly span: readonly [number, number] | null;
  readonly encodings: number;
  readonly archives: number;
  /**
   * `whole`: a file. `bytes`: certainly meant as bytes. `guess`: letters that may decode to
   * nothing.
   */
  readonly as: 'whole' | 'bytes' | 'guess';
}

const nameLengthMax = 1_000;

export const makeDecodedPart = (
  bytes: Uint8Array,
  location: PartLocation,
  text: boolean,
): DecodedPart => ({
  kind: 'part',
  name: location.name,
  via: location.via,
  bytes,
  text,
  whole: location.as === 'whole',
  span: location.span,
});

export const makeUnscannable = (
  { name, via, span }: PartLocation,
  reason: string,
): Unscannable => ({
  kind: 'unscannable',
  name,
  via,
  reason,
  span,
});

/** One decoding deeper. Positions in the item refer to the encoded text. */
export const decodedLocation = (
  location: PartLocation,
  via: string,
  as: PartLocation['as'] = 'bytes',
): PartLocation => ({
  ...location,
  via: [...location.via, via],
  encodings: location.encodings + 1,
  as,
});

export const memberLocation = (
  location: PartLocation,
  name: string,
  via: string,
): PartLocation => ({
  name: `${location.name}!/${name}`.slice(0, nameLengthMax).toWellFormed(),
  via: [...location.via, via],
  span: null,
  encodings: 0,
  archives: location.archives + 1,
  as: 'whole',
});

export interface DecodeBounds {
  /** Bytes that are decoded of one item, at most. */
  readonly bytes: number;
  /** Parts of one item, at most. */
  readonly parts: number;
}

/** The rest of the bounds, and what was already decoded. */
export interface DecodeBudget {
  bytes: number;
  parts: number;
  isReported: boolean;
  /** By digest, kind and archives around it: the fewest encodings around it so far. */
  readonly seen: Map<string, number>;
}

/** Uses up part of the budget. When nothing is left, it reports so once. */
export function* takeFromBudget(
  bytes: Uint8Array,
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Unscannable, boolean> {
  budget.bytes -= bytes.length;
  if (location.as === 'whole') budget.parts -= 1;
  if (budget.bytes >= 0 && budget.parts >= 0) return true;
  return !(yield* reportBudgetExhausted(location, budget));
}

/** Reports once that the budget is used up. */
export function* reportBudgetExhausted(
  location: PartLocation,
  budget: DecodeBudget,
): Generator<Unscannable, true> {
  if (!budget.isReported) yield makeUnscannable(location, 'more in it than may be opened');
  budget.isReported = true;
  return true;
}

export const decodedBytesDigest = (bytes: Uint8Array): string => hash('sha256', bytes, 'base64');

/**
 * Whether everything in it was already reported. Deeper in, less is opened, so fewer encodings
 * around it count as more. A file is opened further than part of a text.
 */
export function isAlreadyDecoded(
  bytes: Uint8Array,
  location: PartLocation,
  { seen }: DecodeBudget,
): boolean {
  const { encodings, archives, as } = location;
  const digest = decodedBytesDigest(bytes);
  const key = as === 'whole' ? `${digest} whole ${archives}` : digest;
  const others = as === 'whole' ? Array.from({ length: archives }, (_, at) => at) : [];
  const keys = [key, ...others.map((at) => `${digest} whole ${at}`)];
  if (keys.some((one) => (seen.get(one) ?? Infinity) <= encodings)) return true;
  seen.set(key, encodings);
  return false;
}
