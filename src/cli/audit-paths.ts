/** Where the audit log of this user lies, and what names things in it. */
import { homedir } from 'node:os';
import path from 'node:path';
import { parseDuration } from './units.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** `$XDG_STATE_HOME/trl/audit`: key, logs and raw logs. */
export function auditDirectory(env: Env = process.env): string {
  return path.join(
    env['XDG_STATE_HOME'] || path.join(homedir(), '.local', 'state'),
    'trl',
    'audit',
  );
}

/** Sealed output: `EXEC.key` and `EXEC.log` below it. */
export const rawOutputDirectory = (): string => path.join(auditDirectory(), 'raw');

/** Heads that `trl audit verify` saw; not beside the log, so that both are not lost at once. */
export function seenHeadsFile(env: Env = process.env): string {
  const config = env['XDG_CONFIG_HOME'] || path.join(homedir(), '.config');
  return path.join(config, 'trl', 'audit-heads.json');
}

/** Which event: of one log by the first digits of its id, or of the only one that has it. */
export interface EventReference {
  /** Hex digits; `''`: any. */
  readonly log: string;
  readonly seq: number;
}

/** `12`, `3fa9:12`; `null` for anything else. */
export function parseEventReference(word: string): EventReference | null {
  const [, log = '', seq = ''] = /^(?:([0-9a-f]{1,32}):)?(\d{1,15})$/.exec(word) ?? [];
  return seq === '' ? null : { log, seq: Number(seq) };
}

export const timeFlagHint = 'a time such as 2026-11-22T09:30, 2026-11-22, or 30m for so long ago';

/** Unix ms; a duration counts back from `now`. `null` when it is none. */
export function parseTimeFlag(text: string, now: number = Date.now()): number | null {
  const ago = /[a-z]$/i.test(text) && !text.endsWith('Z') ? parseDuration(text) : null;
  if (ago !== null) return now - ago;
  if (
    !/^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/.test(
      text,
    )
  ) {
    return null;
  }
  // A day alone is the day here, not in Greenwich.
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(' ', 'T'));
  return Number.isNaN(at) ? null : at;
}
