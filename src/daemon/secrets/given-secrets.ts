/**
 * Secrets that callers gave their own sessions by `env`. A file that a command wrote may contain
 * one long after the command ended, so they are masked until the session is destroyed. They exist
 * in memory only.
 */
import type { SessionId } from '../../command.ts';
import type { KnownSecret } from '../../redacted.ts';
import { checkMaskable } from '../../redaction/known/maskable.ts';
import { maskedParts } from '../../secrets/masked-parts.ts';
import { isSecretVariable } from '../../secrets/secret-name.ts';

/** Values remembered per session; the oldest are dropped first, never those of the current call. */
const valuesMax = 64;

export class GivenSecrets {
  readonly #all = new Map<SessionId, Map<string, KnownSecret>>();
  /** Increases whenever a value is added or removed. */
  version = 0;

  /** Records and returns the values of `env` that are secret by name or form and can be masked. */
  note(session: SessionId, env: Readonly<Record<string, string>>): readonly KnownSecret[] {
    const all = Object.entries(env).flatMap(([name, value]) =>
      isSecretVariable(name, value)
        ? maskedParts(value).map((part) => ({ name, value: part }))
        : [],
    );
    const found = all.filter(({ value }) => checkMaskable(value).ok);
    const own = this.#all.get(session) ?? new Map<string, KnownSecret>();
    for (const secret of found) {
      const isNew = !own.delete(secret.value);
      // The newest values are last: they must be masked now.
      own.set(secret.value, secret);
      if (isNew) this.version += 1;
    }
    for (const value of own.keys()) {
      if (own.size <= Math.max(valuesMax, found.length)) break;
      own.delete(value);
    }
    if (own.size > 0) this.#all.set(session, own);
    return found;
  }

  of(session: SessionId): readonly KnownSecret[] {
    return [...(this.#all.get(session)?.values() ?? [])];
  }

  all(): readonly KnownSecret[] {
    return [...this.#all.values()].flatMap((own) => [...own.values()]);
  }

  /** A fork inherits the variables, so their secrets are known in the fork, too. */
  copy(from: SessionId, to: SessionId): void {
    const own = this.#all.get(from);
    if (own === undefined) return;
    this.#all.set(to, new Map(own));
    this.version += 1;
  }

  forget(session: SessionId): void {
    if (this.#all.delete(session)) this.version += 1;
  }
}
