/** Durations and sizes as a policy file writes them: always with their unit. */

/** By unit, in `ms`. */
export const durationUnitsMs: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
]);
/** By unit, in bytes: powers of 1024. */
export const sizeUnitsBytes: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['k', 2 ** 10],
  ['m', 2 ** 20],
  ['g', 2 ** 30],
  ['t', 2 ** 40],
]);

export const durationPattern = /^\d+(?:\.\d+)?(?:ms|s|m|h|d)$/;
export const policyDurationMessage = 'must be a duration such as 500ms, 30s, 15m, 2h or 7d';
export const sizePattern = /^\d+(?:\.\d+)?[kmgt]?$/;
export const policySizeMessage = 'must be a size such as 64k, 512m or 2g';

/** `15m` in milliseconds. The text fits {@link durationPattern}. */
export function parsePolicyDurationMs(text: string): number {
  const unit = text.replace(/^[\d.]+/, '');
  return Math.round(Number.parseFloat(text) * (durationUnitsMs.get(unit) ?? Number.NaN));
}

/** `512m` in bytes, by powers of 1024. The text fits {@link sizePattern}. */
export function parsePolicySizeBytes(text: string): number {
  const unit = text.replace(/^[\d.]+/, '');
  return Math.round(Number.parseFloat(text) * (sizeUnitsBytes.get(unit) ?? Number.NaN));
}
