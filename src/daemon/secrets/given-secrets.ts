/**
 * Secrets that callers gave their own sessions by `env`. A file that a command wrote may hold one
 * long after it ended, so they are hidden until the session is destroyed. In memory only.
 */
import type { SessionId } from '../../command.ts';
import type { KnownSecret } from '../../redacted.ts';
import { checkMaskable } from '../../redaction/known/maskable.ts';
import { maskedParts } from '../../secrets/masked-parts.ts';
import { isSecretVariable } from '../../secrets/secret-name.ts';

/** Values remembered of one session; the oldest go first, none of a call's own. */
const valuesMax = 64;

export class GivenSecrets {
  readonly #all = new Map<SessionId, Map<string, KnownSecret>>();
  /** Rises whenever a value comes or goes. */
  version = 0;

  /** Notes what of `env` is secret, by name or form, and can be masked; answers it. */
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
      // The youngest last: they are the ones that must be masked now.
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

  /** A fork carries the variables, so what they hold is known there, too. */
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
