/** What a caller learns about a name when it asks whether a command could have it. Pure. */
import type { TrlError } from '../errors.ts';
import type { SourceKind } from './secret.ts';
import type { SecretSource } from './source.ts';

export interface SecretCheck {
  readonly name: string;
  /**
   * `ready`: a command can have it. `missing`: no source has it. `unreadable`: its source failed.
   * `unusable`: it is there and cannot be masked, or it is too large. `unread`: a source has the
   * name, and is asked for the value only when policy has let a command have it.
   */
  readonly state: 'ready' | 'unread' | 'missing' | 'unreadable' | 'unusable';
  readonly source: SourceKind | null;
  readonly origin: string | null;
  /** Until when the value that was read is used, ISO 8601 in UTC; `null`: no end is known. */
  readonly expires_at: string | null;
  /** Why it is not `ready`, one sentence, else `null`. */
  readonly problem: string | null;
}

export function unreadCheck(name: string, { kind: source, origin }: SecretSource): SecretCheck {
  const problem = 'It is read when policy has let a command have it';
  return { name, state: 'unread', source, origin, expires_at: null, problem };
}

export function failedCheck(name: string, { code, message: problem }: TrlError): SecretCheck {
  const states = { SECRET_NOT_FOUND: 'missing', SECRET_UNAVAILABLE: 'unreadable' } as const;
  const isNamed = code === 'SECRET_NOT_FOUND' || code === 'SECRET_UNAVAILABLE';
  const state = isNamed ? states[code] : 'unusable';
  return { name, state, source: null, origin: null, expires_at: null, problem };
}
