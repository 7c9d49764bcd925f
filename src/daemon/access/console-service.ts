/** Links to the web console, for a person at this machine. */
import type { Caller } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ConsoleLoginParams } from '../../api/system.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import {
  createPersonProver,
  type ProvePerson,
  type PersonProverParts,
} from '../approvals/person-proof.ts';
import { isoTime } from '../executions/receipt.ts';
import type { Identities } from './identities.ts';

/**
 * Returns where the console is served, `http://127.0.0.1:PORT`. Without an HTTP server yet, starts
 * one on the loopback that accepts logins only.
 */
export type OpenConsole = () => Promise<{ readonly origin: string }>;

export interface ConsoleServiceParts extends PersonProverParts {
  readonly identities: Pick<Identities, 'newLogin'>;
}

export class ConsoleService {
  #open: OpenConsole | null = null;
  readonly #identities: ConsoleServiceParts['identities'];
  readonly #prove: ProvePerson;

  constructor(parts: ConsoleServiceParts) {
    this.#identities = parts.identities;
    this.#prove = createPersonProver(parts);
  }

  /** Serves the console at an origin that `open` returns; without it there is no console. */
  serveBy(open: OpenConsole): void {
    this.#open = open;
  }

  /**
   * @throws TrlError `AUTH_FAILED` without the enrolled person's passphrase, or where policy wants
   *   one and nobody is enrolled; `BACKEND_UNAVAILABLE` where there is no console
   */
  async login(
    caller: Caller,
    { passphrase }: ConsoleLoginParams,
  ): Promise<MethodAnswers['console.login']> {
    if (this.#open === null) {
      const message = 'Cannot open the console: this runtime has none; start one: trl serve';
      throw new TrlError('BACKEND_UNAVAILABLE', message);
    }
    const proof = await this.#prove('Cannot open the console', caller, passphrase);
    const { origin } = await this.#open();
    // Behind the number sign: browsers send it to nobody, and keep it out of logs.
    const { code, expiresAt } = this.#identities.newLogin(proof);
    return { url: `${origin}/#login=${code}`, expires_at: isoTime(expiresAt) };
  }
}
