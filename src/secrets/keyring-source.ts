/**
 * The keyring of the desktop (Secret Service, macOS Keychain, Windows Credential Manager): entries
 * of one service, whose account is the name. The package is optional and loaded when asked.
 */
import { secretUnavailableError } from './source.ts';
import type { SecretSource } from './source.ts';

const serviceDefault = 'trl';
/** A keyring that is locked asks a person for its password. */
const answerMs = 10_000;
const cacheMsDefault = 300_000;

/** The part of `@napi-rs/keyring` that is used. */
export interface Keyring {
  find(service: string, signal: AbortSignal): Promise<readonly { readonly account: string }[]>;
  get(service: string, account: string, signal: AbortSignal): Promise<string | null>;
}

export interface KeyringOptions {
  /** The one name that is taken; default, also of `null`: every account of the service. */
  readonly name?: string | null;
  /** Default, also of `null`: `trl`. */
  readonly service?: string | null;
  /** Default 300,000. */
  readonly cacheMs?: number;
  /** Default: the package. */
  readonly load?: () => Promise<Keyring>;
}

export class KeyringSource implements SecretSource {
  readonly kind = 'keyring';
  readonly origin: string;
  readonly cacheMs: number;
  readonly #only: string | null;
  readonly #load: () => Promise<Keyring>;
  #keyring: Promise<Keyring> | null = null;

  constructor(options: KeyringOptions = {}) {
    this.origin = options.service ?? serviceDefault;
    this.#only = options.name ?? null;
    this.cacheMs = options.cacheMs ?? cacheMsDefault;
    this.#load = options.load ?? loadKeyring;
  }

  mark(): null {
    return null;
  }

  async names(): Promise<readonly string[]> {
    if (this.#only !== null) return [this.#only];
    const found = await this.#ask((keyring, signal) => keyring.find(this.origin, signal));
    return found.map(({ account }) => account);
  }

  async read(name: string): Promise<string | null> {
    if (this.#only !== null && name !== this.#only) return null;
    return this.#ask((keyring, signal) => keyring.get(this.origin, name, signal));
  }

  async #ask<T>(ask: (keyring: Keyring, signal: AbortSignal) => Promise<T>): Promise<T> {
    const action = `read secrets of "${this.origin}" from the keyring`;
    this.#keyring ??= this.#load();
    let keyring: Keyring;
    try {
      keyring = await this.#keyring;
    } catch (cause) {
      this.#keyring = null;
      const install = 'the package @napi-rs/keyring is missing; run: npm install @napi-rs/keyring';
      throw secretUnavailableError(action, install, cause);
    }
    const late = AbortSignal.timeout(answerMs);
    const isLate = new Promise<never>((_, reject) => {
      late.addEventListener('abort', () => reject(late.reason), { once: true });
    });
    try {
      return await Promise.race([ask(keyring, late), isLate]);
    } catch (cause) {
      const reason = late.aborted
        ? `it did not answer within ${answerMs / 1_000} s; it may be locked`
        : 'this host has none that answers (a server without a desktop has none)';
      throw secretUnavailableError(action, reason, cause);
    }
  }
}

async function loadKeyring(): Promise<Keyring> {
  const { AsyncEntry, findCredentialsAsync } = await import('@napi-rs/keyring');
  // The kernel's keyring, which would take its place, ends with the session and holds nothing.
  const options = { linux: { store: 'secret-service' as const } };
  return {
    find: async (service, signal) => {
      const found = await findCredentialsAsync(service, null, signal);
      return found.map(({ account }) => ({ account }));
    },
    get: (service, account, signal) =>
      new AsyncEntry(service, account, options).getPassword(signal),
  };
}
