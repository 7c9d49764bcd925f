/** Parts of an item: where each is, and the bounds of the work to find them. */
import { hash } from 'node:crypto';

/** Something that can be searched, or of which only the identity can be told. */
export interface DecodedPart {
  readonly kind: 'part';
  /** The item, and members within it: `dist.tgz!/package/index.js`. */
  readonly name: string;
  /** How it was decoded, outermost first. */
  readonly via: readonly string[];
  readonly bytes: Uint8Array;
  /** Whether it is to be searched. What is not text has its texts as parts of their own. */
  readonly text: boolean;
  /** Whether it is the item or a member as it lies there: a file that has an identity. */
  readonly whole: boolean;
  /** Bytes `[from, to)` of the item in which it stands, encoded or not; `null`: a member. */
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
  /** `whole`: a file. `piece`: surely meant as bytes. `guess`: letters that may mean nothing. */
  readonly as: 'whole' | 'piece' | 'guess';
}

const nameLengthMax = 1_000;

export const makeDecodedPart = (
  bytes: Uint8Array,
  place: PartLocation,
  text: boolean,
): DecodedPart => ({
  kind: 'part',
  name: place.name,
  via: place.via,
  bytes,
  text,
  whole: place.as === 'whole',
  span: place.span,
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

/** One encoding further in; positions of the item mean nothing there, but where it stands does. */
export const decodedLocation = (
  place: PartLocation,
  via: string,
  as: PartLocation['as'] = 'piece',
): PartLocation => ({
  ...place,
  via: [...place.via, via],
  encodings: place.encodings + 1,
  as,
});

export const memberLocation = (place: PartLocation, name: string, via: string): PartLocation => ({
  name: `${place.name}!/${name}`.slice(0, nameLengthMax).toWellFormed(),
  via: [...place.via, via],
  span: null,
  encodings: 0,
  archives: place.archives + 1,
  as: 'whole',
});

export interface DecodeBounds {
  /** All that is decoded of one item. */
  readonly bytes: number;
  /** Parts of one item. */
  readonly parts: number;
}

/** What is left of the bounds, and what was seen. */
export interface DecodeBudget {
  bytes: number;
  parts: number;
  isReported: boolean;
  /** By digest, kind and archives around it: the fewest encodings behind which it was found. */
  readonly seen: Map<string, number>;
}

/** Takes what the bounds leave; tells once when they are reached. */
export function* takeFromBudget(
  bytes: Uint8Array,
  place: PartLocation,
  left: DecodeBudget,
): Generator<Unscannable, boolean> {
  left.bytes -= bytes.length;
  if (place.as === 'whole') left.parts -= 1;
  if (left.bytes >= 0 && left.parts >= 0) return true;
  return !(yield* reportBudgetExhausted(place, left));
}

/** Where the bounds are reached: tells so, once. */
export function* reportBudgetExhausted(
  place: PartLocation,
  left: DecodeBudget,
): Generator<Unscannable, true> {
  if (!left.isReported) yield makeUnscannable(place, 'more in it than may be opened');
  left.isReported = true;
  return true;
}

export const decodedBytesDigest = (bytes: Uint8Array): string => hash('sha256', bytes, 'base64');

/**
 * Whether all that is in it was told: what was met deeper down was opened less far. A file is
 * opened further than a piece of a text.
 */
export function isAlreadyDecoded(
  bytes: Uint8Array,
  place: PartLocation,
  { seen }: DecodeBudget,
): boolean {
  const { encodings, archives, as } = place;
  const digest = decodedBytesDigest(bytes);
  const key = as === 'whole' ? `${digest} whole ${archives}` : digest;
  const others = as === 'whole' ? Array.from({ length: archives }, (_, at) => at) : [];
  const keys = [key, ...others.map((at) => `${digest} whole ${at}`)];
  if (keys.some((one) => (seen.get(one) ?? Infinity) <= encodings)) return true;
  seen.set(key, encodings);
  return false;
}
