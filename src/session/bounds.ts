/** The bounds of one command: call over session over table, never above the hard maximum. Pure. */
import type { Bounds } from '../command.ts';
import { TrlError } from '../errors.ts';
import { limits, type LimitName } from '../limits.ts';

/** What a caller may ask for; absent fields take the next level's value. */
export interface AskedBounds {
  readonly timeout_ms?: number;
  readonly idle_timeout_ms?: number;
  readonly cpu_s?: number;
  readonly processes?: number;
  readonly open_files?: number;
  readonly file_bytes?: number;
  readonly memory_bytes?: number;
  readonly address_space_bytes?: number;
  readonly journal_bytes?: number;
}

function within(name: LimitName, asked: number | undefined): number | null {
  const { default: usual, max, unit } = limits[name];
  if (asked === undefined) return usual;
  if (max !== null && asked > max) {
    throw new TrlError(
      'INVALID_PARAMS',
      `Cannot bound ${name} by ${asked}: at most ${max} ${unit}`,
    );
  }
  return asked;
}

/**
 * @throws TrlError `INVALID_PARAMS` when a value lies above the hard maximum
 */
export function boundsOf(asked: AskedBounds, mode: 'foreground' | 'detached'): Bounds {
  const timeout = mode === 'foreground' ? 'timeoutMs' : 'detachedTimeoutMs';
  return {
    timeoutMs: within(timeout, asked.timeout_ms),
    idleTimeoutMs: within('idleTimeoutMs', asked.idle_timeout_ms),
    graceMs: limits.graceMs.default,
    cpuSeconds: within('cpuSeconds', asked.cpu_s),
    processesMax: within('processes', asked.processes),
    openFilesMax: within('openFiles', asked.open_files),
    fileBytesMax: within('fileBytes', asked.file_bytes),
    memoryBytesMax: within('memoryBytes', asked.memory_bytes),
    memoryRequired: asked.memory_bytes !== undefined,
    addressSpaceBytesMax: within('addressSpaceBytes', asked.address_space_bytes),
    journalBytesMax: within('journalBytes', asked.journal_bytes) ?? limits.journalBytes.default,
  };
}
