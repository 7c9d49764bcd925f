/**
 * Logins of the console. A code that a person got on their own machine is given once for a token of
 * a few hours. Both are 256 random bits, in memory only, and end with the daemon.
 */
import { randomBytes } from 'node:crypto';
import type { PersonProof } from './token-record.ts';
import { timingSafeEquals, hashToken, generateToken } from './token.ts';

const codeMs = 5 * 60_000;
const loginMs = 12 * 3_600_000;
const codesMax = 64;
const loginsMax = 256;
const codeCharacters = 43;

export interface AuthenticatedPerson {
  /** `person:…` */
  readonly actor: string;
  readonly proof: PersonProof;
}

export interface IssuedLogin {
  readonly person: AuthenticatedPerson;
  readonly hash: Buffer;
  /** Unix ms. */
  readonly expiresAt: number;
}

interface Code {
  readonly person: AuthenticatedPerson;
  readonly hash: Buffer;
  readonly expiresAt: number;
}

export class Logins {
  readonly #clock: () => number;
  readonly #codes = new Map<string, Code>();
  readonly #logins = new Map<string, IssuedLogin>();

  /** `clock` answers Unix ms; default `Date.now`. */
  constructor(clock: () => number = Date.now) {
    this.#clock = clock;
  }

  /** A single-use code, valid for five minutes. Beyond 64, the oldest one becomes invalid. */
  issue(person: AuthenticatedPerson): { readonly code: string; readonly expiresAt: number } {
    const code = randomBytes(32).toString('base64url');
    const hash = hashToken(code);
    const expiresAt = this.#clock() + codeMs;
    this.#sweep();
    this.#codes.set(hash.toString('hex'), { person, hash, expiresAt });
    dropOldest(this.#codes, codesMax);
    return { code, expiresAt };
  }

  /** The code is used up, whatever comes of it. `null`: it is none, or no more. */
  redeem(code: string): { readonly token: string; readonly login: IssuedLogin } | null {
    if (code.length !== codeCharacters) return null;
    const given = hashToken(code);
    const key = given.toString('hex');
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    if (found === undefined || !timingSafeEquals(found.hash, given)) return null;
    if (found.expiresAt <= this.#clock()) return null;
    const token = generateToken();
    const hash = hashToken(token);
    const login = { person: found.person, hash, expiresAt: this.#clock() + loginMs };
    this.#sweep();
    this.#logins.set(hash.toString('hex'), login);
    dropOldest(this.#logins, loginsMax);
    return { token, login };
  }

  /** By the hash of its token, hex; an expired one is known by its time. */
  find(key: string): IssuedLogin | null {
    return this.#logins.get(key) ?? null;
  }

  end(key: string): void {
    this.#logins.delete(key);
  }

  /** Forgets what expired a while ago; until then, its use is reported as expired. */
  #sweep(): void {
    const now = this.#clock();
    for (const [key, { expiresAt }] of this.#codes) if (expiresAt <= now) this.#codes.delete(key);
    for (const [key, { expiresAt }] of this.#logins) {
      if (expiresAt + loginMs <= now) this.#logins.delete(key);
    }
  }
}

/** A map keeps the order in which its entries came. */
function dropOldest(entries: Map<string, unknown>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(key);
  }
}
