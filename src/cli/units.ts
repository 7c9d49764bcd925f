/** Durations, sizes and counts as people write them. */

import { durationUnitsMs, sizeUnitsBytes } from '../policy/files/quantities.ts';

export const durationFlagHint = 'a duration such as 500ms, 30s, 5m, 1h or 30d';
export const sizeFlagHint = 'a size in bytes such as 4096, 64k, 100m or 2g';
export const countFlagHint = 'a whole number';

/** `30s`, `1.5m`, `500ms`; a number alone is seconds. In `ms`, `null` when it is none. */
export function parseDuration(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/i.exec(text) ?? [];
  return scaled(number, durationUnitsMs.get(unit.toLowerCase() || 's'));
}

/** `2g`, `1.5M`, `64KiB`; powers of 1024. In `bytes`, `null` when it is none. */
export function parseSize(text: string): number | null {
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?)([kmgt]?)(?:i?b)?$/i.exec(text) ?? [];
  return scaled(number, sizeUnitsBytes.get(unit.toLowerCase()));
}

export function parseCount(text: string): number | null {
  return /^\d+$/.test(text) ? scaled(text, 1) : null;
}

function scaled(number: string, unit: number | undefined): number | null {
  if (number === '' || unit === undefined) {
    return null;
  }
  const value = Math.round(Number(number) * unit);
  return Number.isSafeInteger(value) ? value : null;
}

/** `12 ms`, `1.2 s`, `3 min 4 s`. */
export function showDuration(ms: number): string {
  if (ms < 1_000) {
    return `${Math.round(ms)} ms`;
  }
  if (ms < 59_950) {
    return `${(ms / 1_000).toFixed(1)} s`;
  }
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
