/** An index of known values: those that can be told apart from ordinary text, and the weak ones. */
import type { KnownValue } from '../secret-finding.ts';
import { KnownIndex } from './known-index.ts';
import { checkMaskable } from './maskable.ts';
import { WeakValues } from './weak-values.ts';

/**
 * @param grownFrom an index of the first ones of these values, of which what it holds is copied
 * @throws TrlError `QUOTA_EXCEEDED` above 256 values
 */
export function buildKnownIndex(
  values: readonly KnownValue[],
  grownFrom: KnownIndex | null = null,
): KnownIndex {
  const isWeak = new Set(
    values.filter(({ value }) => {
      const check = checkMaskable(value);
      return check.ok && check.isWeak;
    }),
  );
  const strong = values.filter((one) => !isWeak.has(one));
  const weak = isWeak.size === 0 ? null : new WeakValues([...isWeak]);
  return new KnownIndex(strong, grownFrom, weak);
}
