/** What bounds the work on one item, and spares what was done before. */
import { hash } from 'node:crypto';
import { makeUnscannable, type PartLocation, type Unscannable } from './decode-part.ts';

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
