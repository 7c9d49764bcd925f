/** Secrets whose values a caller wrote itself: it has seen them somewhere, or guesses. */
import { TrlError } from '../../errors.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** Notes the names. A tag answers "is this it?", so whoever writes values can try them. */
export function recordTypedSecrets(
  session: LiveSession,
  secrets: readonly string[],
  { log, auditing }: { readonly log: (text: string) => void; readonly auditing: Auditing },
): void {
  session.typedSecrets = [...new Set([...session.typedSecrets, ...secrets])];
  const { id } = session.record;
  auditing.note({
    kind: 'secret.typed',
    session: id,
    data: { names: secrets, distinct: session.typedSecrets.length },
  });
  log(
    `session ${id} wrote the value of ${secrets.join(', ')}; ` +
      `${session.typedSecrets.length} distinct so far: it was seen somewhere, or guessed`,
  );
}

/**
 * A question is kept and shown as it is asked, for a yes binds it: no secret may be in it.
 *
 * @throws TrlError `INVALID_PARAMS` when there is one
 */
export function refuseSecretInCommand([secret]: readonly string[]): void {
  if (secret === undefined) return;
  throw new TrlError(
    'INVALID_PARAMS',
    `Cannot ask a person about the command: its text holds the secret ${secret}; ` +
      `name it in env_keys and write "$${secret}" in its place`,
  );
}
