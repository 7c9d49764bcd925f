/** The wire of `secrets.*`. A value comes in by `secrets.set` alone, and none is ever answered. */
import type { SessionId } from '../command.ts';

export interface SecretAnswers {
  readonly 'secrets.list': SecretListAnswer;
  readonly 'secrets.check': SecretCheckAnswer;
  readonly 'secrets.request': SecretRequestAnswer;
  readonly 'secrets.requests': { readonly requests: readonly SecretRequestView[] };
  readonly 'secrets.set': { readonly name: string; readonly warning: string | null };
  readonly 'secrets.inject': { readonly session_id: SessionId; readonly names: readonly string[] };
  readonly 'secrets.delete': {
    readonly name: string;
    readonly session_id: SessionId | null;
    /** The source that still has it, so that it is read again when it is wanted. */
    readonly remains: SecretEntry['source'] | null;
  };
}

/** A secret as everybody may see it; no value and no length of one is in any answer. */
export interface SecretEntry {
  readonly name: string;
  readonly source: 'environment' | 'dotenv' | 'keyring' | 'systemd' | 'command' | 'person';
  /** A file's path, a command's program; `null`: there is only one of its kind. */
  readonly origin: string | null;
  /** ISO 8601; `null`: not since the runtime started. */
  readonly last_used: string | null;
}
export interface SecretListAnswer {
  readonly secrets: readonly SecretEntry[];
  /** Sources that could not be asked, and what to do. */
  readonly problems: readonly {
    readonly source: SecretEntry['source'];
    readonly origin: string | null;
    readonly problem: string;
  }[];
}
export interface SecretCheckAnswer {
  readonly name: string;
  /** `unread`: a source has the name, and is asked when policy lets a command have it. */
  readonly state: 'ready' | 'unread' | 'missing' | 'unreadable' | 'unusable';
  readonly source: SecretEntry['source'] | null;
  readonly origin: string | null;
  /** Until when the value that was read is used; `null`: no end is known. */
  readonly expires_at: string | null;
  /** Why it is not `ready`. */
  readonly problem: string | null;
}
/** What a person is asked for. */
export interface SecretRequestView {
  readonly name: string;
  /** The asker's words: text of others. */
  readonly reason: string;
  readonly requester: string;
  readonly requested_at: string;
  readonly expires_at: string;
}
export interface SecretRequestAnswer {
  readonly name: string;
  /** `ready`: it is there. `pending`: a person has not given it yet. `refused`: nobody will. */
  readonly state: 'ready' | 'pending' | 'refused';
  /** Present while `pending`. */
  readonly expires_at?: string;
}
export interface SecretRequestParams {
  readonly name: string;
  readonly reason: string;
  /** How long to wait for the person; default 0: answers at once. */
  readonly wait_ms?: number;
}
export interface SecretSetParams {
  readonly name: string;
  /** At most 64 KiB. */
  readonly value: string;
  /** Proves a person, where one is enrolled. */
  readonly passphrase?: string;
}
export interface SecretInjectParams {
  readonly session_id: SessionId;
  readonly names: readonly string[];
}
export interface SecretDeleteParams {
  readonly name: string;
  /** Takes an injection back; without it, forgets the value that is held. */
  readonly session_id?: SessionId;
  /** Proves a person, where one is enrolled; not needed for an injection. */
  readonly passphrase?: string;
}
