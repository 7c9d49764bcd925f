/** The bounds of one command: call over session over table, never above the hard maximum. Pure. */
import type { Bounds } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits, type LimitName } from '../limits.ts';

/** What a caller may ask for; absent fields take the next level's value. */
export interface RequestedBounds {
  readonly timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly grace_ms?: number;
  readonly cpu_s?: number;
  readonly processes?: number;
  readonly open_files?: number;
  readonly file_bytes?: number;
  readonly memory_bytes?: number;
  readonly address_space_bytes?: number;
  readonly journal_bytes?: number;
}

/** The most that policy lets a caller ask for, in the units of `limits.ts`. */
export type BoundMaxima = Readonly<Partial<Record<LimitName, number>>>;

function within(name: LimitName, asked: number | undefined, maxima: BoundMaxima): number | null {
  const { default: usual, max, unit } = limits[name];
  const permitted = maxima[name];
  if (asked === undefined) {
    return permitted === undefined ? usual : Math.min(usual ?? permitted, permitted);
  }
  if (permitted !== undefined && asked > permitted) {
    const message = `Cannot bound ${name} by ${asked}: policy permits ${permitted} ${unit} at most`;
    throw new TrlError('POLICY_DENIED', message);
  }
  if (max !== null && asked > max) {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot bound ${name} by ${asked}: at most ${max} ${unit}`,
    );
  }
  return asked;
}

function timeoutOf(
  asked: number | undefined,
  mode: 'foreground' | 'terminal' | 'detached',
  maxima: BoundMaxima,
): number | null {
  if (mode === 'detached') return within('detachedTimeoutMs', asked, maxima);
  if (mode === 'foreground') return within('timeoutMs', asked, maxima);
  const { timeoutMs, ...others } = maxima;
  const most = timeoutMs === undefined ? others : { ...others, terminalTimeoutMs: timeoutMs };
  return within('terminalTimeoutMs', asked, most);
}

/**
 * @param mode `terminal`: a foreground command with a terminal whose input is open
 * @throws TrlError `INVALID_PARAMS` when a value lies above the hard maximum, `POLICY_DENIED` when
 *   above what policy permits
 */
export function resolveBounds(
  asked: RequestedBounds,
  mode: 'foreground' | 'terminal' | 'detached',
  maxima: BoundMaxima = {},
): Bounds {
  return {
    timeoutMs: timeoutOf(asked.timeout_ms, mode, maxima),
    idleTimeoutMs: within('idleTimeoutMs', asked.idle_timeout_ms, maxima),
    graceMs: within('graceMs', asked.grace_ms, maxima) ?? limits.graceMs.default,
    cpuSeconds: within('cpuSeconds', asked.cpu_s, maxima),
    processesMax: within('processes', asked.processes, maxima),
    openFilesMax: within('openFiles', asked.open_files, maxima),
    fileBytesMax: within('fileBytes', asked.file_bytes, maxima),
    memoryBytesMax: within('memoryBytes', asked.memory_bytes, maxima),
    memoryRequired: asked.memory_bytes !== undefined || maxima.memoryBytes !== undefined,
    addressSpaceBytesMax: within('addressSpaceBytes', asked.address_space_bytes, maxima),
    journalBytesMax:
      within('journalBytes', asked.journal_bytes, maxima) ?? limits.journalBytes.default,
  };
}
