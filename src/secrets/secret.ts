/** Words of secrets: names and where their values come from; never a value. */

export type SourceKind =
  | 'environment'
  | 'dotenv'
  | 'keyring'
  | 'systemd'
  | 'command'
  | 'file'
  | 'person';

/** A secret as everybody may see it. */
export interface SecretView {
  readonly name: string;
  readonly source: SourceKind;
  /** Which one of its kind: a file's path, a command's program; `null`: there is only one. */
  readonly origin: string | null;
  /** ISO 8601 in UTC; `null`: not since the runtime started. */
  readonly last_used: string | null;
}

/** A secret with its value: in memory only, and never in a message, a file or an argument. */
export interface SecretValue {
  readonly name: string;
  readonly value: string;
}
