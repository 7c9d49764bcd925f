/**
 * The tokens of this user, in `$XDG_STATE_HOME/trl/tokens.json` (0600). Only the SHA-256 of a token
 * is stored: nobody can read one out of the file. This protects against anyone who speaks to the
 * runtime, not against anyone who can write the file.
 */
import { randomBytes } from 'node:crypto';
import type { Role } from '../command.ts';
import { TrlError } from '../errors.ts';
import { readPrivateFile, writePrivateFile } from '../private-file.ts';
import { withPrivateFileLock } from './private-file-lock.ts';
import {
  tokensFileBytesMax,
  isTokenName,
  needsPerson,
  parseTokenRecords,
  tokenRecordsMax,
  formatTokenRecords,
  tokensMax,
  type PersonProof,
  type TokenId,
  type TokenRecord,
} from './token-record.ts';
import { hashToken, generateToken } from './token.ts';

/** How long a revoked or expired one is remembered, in ms: its use is reported as such. */
const rememberMs = 90 * 86_400_000;

export interface NewToken {
  /** Default `null`: it is called by its id. */
  readonly name?: string | null;
  /** At least one. */
  readonly roles: readonly Role[];
  /** Unix ms; default `null`: it does not expire. */
  readonly expiresAt?: number | null;
  /** How the person was proved who makes it; needed for every role but `agent`. */
  readonly proof?: PersonProof | null;
}

/** Where the tokens of this user lie. `home` is absolute. */
export function tokensFile(
  env: Readonly<{ [name: string]: string | undefined }>,
  home: string,
): string {
  return `${env['XDG_STATE_HOME'] || `${home}/.local/state`}/trl/tokens.json`;
}

export class Tokens {
  readonly file: string;
  readonly #clock: () => number;

  /** `clock` answers Unix ms; default `Date.now`. */
  constructor(file: string, clock: () => number = Date.now) {
    this.file = file;
    this.#clock = clock;
  }

  /**
   * Those that are revoked or expired included, oldest first. Where there is no file, none.
   *
   * @throws TrlError `AUTH_FAILED` when the file cannot be trusted or read: then none counts
   */
  all(): readonly TokenRecord[] {
    const text = readPrivateFile(this.file, tokensFileBytesMax);
    return text === null ? [] : parseTokenRecords(text, this.file);
  }

  /**
   * Makes a token. It is answered here and nowhere else.
   *
   * @throws TrlError `INVALID_PARAMS` for a name that is taken or no word, a time that has passed,
   *   no role; `AUTH_FAILED` for a person's role without proof, and as {@link all};
   *   `QUOTA_EXCEEDED` when there are 1,000
   */
  create(wanted: NewToken): { readonly record: TokenRecord; readonly token: string } {
    const { name = null, expiresAt = null, proof = null } = wanted;
    const roles = [...new Set(wanted.roles)];
    const refuse = (why: string): TrlError =>
      new TrlError('INVALID_PARAMS', `Cannot create a token: ${why}`);
    if (roles.length === 0) throw refuse('it has no role');
    if (name !== null && !isTokenName(name)) {
      const rule = 'letters, digits, ".", "_" and "-", 64 at most, not beginning with "t-"';
      throw refuse(`the name ${JSON.stringify(name.slice(0, 64))} is not of ${rule}`);
    }
    const createdAt = this.#clock();
    if (expiresAt !== null && !(expiresAt > createdAt)) throw refuse('it would have expired');
    if (needsPerson(roles) && proof === null) {
      const message = `Cannot create a token of ${roles.join(', ')}: no person is proved`;
      throw new TrlError('AUTH_FAILED', message);
    }
    return withPrivateFileLock(this.file, () => {
      const before = this.all();
      const alive = before.filter(({ revokedAt }) => revokedAt === null);
      if (name !== null && alive.some((one) => one.name === name)) {
        throw refuse(`there is one called "${name}"; revoke it first, or take another name`);
      }
      if (alive.length >= tokensMax) {
        const message = `Cannot create a token: there are ${tokensMax}; revoke some first`;
        throw new TrlError('QUOTA_EXCEEDED', message);
      }
      const token = generateToken();
      const record = {
        id: newTokenId(),
        name,
        roles,
        sha256: hashToken(token).toString('hex'),
        proof: needsPerson(roles) ? proof : null,
        createdAt,
        expiresAt,
        revokedAt: null,
      };
      this.#write([...before, record]);
      return { record, token };
    });
  }

  /**
   * From now on the token is nobody's.
   *
   * @param named its id or its name
   * @throws TrlError `INVALID_PARAMS` when there is none, or it is revoked; as {@link all}
   */
  revoke(named: string): TokenRecord {
    return withPrivateFileLock(this.file, () => {
      const before = this.all();
      const alive = before.filter(({ revokedAt }) => revokedAt === null);
      const found = alive.find(({ id, name }) => id === named || name === named);
      if (found === undefined) {
        const shown = JSON.stringify(named.slice(0, 64));
        throw new TrlError('INVALID_PARAMS', `Cannot revoke ${shown}: there is no such token`);
      }
      const revoked = { ...found, revokedAt: this.#clock() };
      this.#write(before.map((one) => (one.id === found.id ? revoked : one)));
      return revoked;
    });
  }

  /** What is over for long is forgotten; where there is no room, what was revoked first. */
  #write(records: readonly TokenRecord[]): void {
    const oldest = this.#clock() - rememberMs;
    const isRemembered = ({ revokedAt, expiresAt }: TokenRecord): boolean =>
      (revokedAt ?? expiresAt ?? Infinity) > oldest;
    const kept = records.filter(isRemembered);
    const over = kept
      .filter(({ revokedAt }) => revokedAt !== null)
      .toSorted((a, b) => (a.revokedAt ?? 0) - (b.revokedAt ?? 0));
    const dropped = new Set(over.slice(0, Math.max(0, kept.length - tokenRecordsMax)));
    writePrivateFile(this.file, formatTokenRecords(kept.filter((one) => !dropped.has(one))));
  }
}

const newTokenId = (): TokenId => `t-${randomBytes(8).toString('hex')}`;
