/** Secrets whose values a caller typed: the caller has seen them somewhere, or guesses. */
import { TrlError } from '../../errors.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { LiveSession } from '../sessions/sessions.ts';

/** Records the names: a mask tag confirms a guess, so a caller could try values. */
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
 * The runtime stores and shows a request for approval unchanged, because the approval binds to it;
 * so it must not contain a secret.
 *
 * @throws TrlError `INVALID_PARAMS` if it contains one
 */
export function refuseSecretInCommand([secret]: readonly string[]): void {
  if (secret === undefined) return;
  throw new TrlError(
    'INVALID_PARAMS',
    `Cannot ask a person about the command: its text holds the secret ${secret}; ` +
      `name it in env_keys and write "$${secret}" in its place`,
  );
}
