/**
 * Who presents a token: the operator's own (`TRL_AUTH_TOKEN`), one of `trl token create`, or a
 * login of the console. A token counts only as long as it stands; nothing of one is ever said.
 */
import { randomUUID } from 'node:crypto';
import { lstatSync } from 'node:fs';
import path from 'node:path';
import type { Enrolment } from '../../approval/enrolment.ts';
import type { Caller } from '../../command.ts';
import { Logins, type IssuedLogin } from '../../identity/logins.ts';
import { needsPerson, type PersonProof, type TokenRecord } from '../../identity/token-record.ts';
import {
  timingSafeEquals,
  checkMainToken,
  hashToken,
  tokenCharactersMax,
} from '../../identity/token.ts';
import { Tokens } from '../../identity/tokens.ts';
import type { AuditRecord } from '../auditing/auditing.ts';
import { Listeners } from '../listeners.ts';

export interface IdentitiesOptions {
  /** Where `tokens.json` lies. */
  readonly directory: string;
  /** `TRL_AUTH_TOKEN`; `null`: there is none. */
  readonly mainToken: string | null;
  readonly enrolment: Pick<Enrolment, 'approver'>;
  /** Whether policy takes what only the uid proves. Default: always. */
  readonly isSameUidAllowed?: () => boolean;
  /** Records new and revoked tokens in the audit log. Default: nothing. Must not throw. */
  readonly note?: (told: AuditRecord) => void;
  /** Says once why the file of tokens cannot be used. Must not throw. */
  readonly log?: (text: string) => void;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
}

/**
 * Why a token is nobody's, for the record. `unproved`: only the uid proved the person who made it,
 * which is no longer enough. `unreadable`: the file of tokens cannot be trusted.
 */
export type TokenRefusalReason =
  | 'missing'
  | 'unknown'
  | 'revoked'
  | 'expired'
  | 'unproved'
  | 'unreadable';

/** How often credentials are checked while a transport is open, in ms. */
const lookMs = 500;
/** A file that changed just now may change again within one tick of its clock, in ms. */
const unsettledMs = 1_000;

interface Credential {
  readonly caller: Caller;
  readonly hash: Buffer;
  /** Unix ms; `null`: never. */
  readonly expiresAt: number | null;
  /** What else it was made of: another record is another credential. */
  readonly mark: string;
}

export class Identities implements Disposable {
  readonly #options: IdentitiesOptions;
  readonly #ended = new Listeners<[Caller]>();
  readonly #clock: () => number;
  readonly #tokens: Tokens;
  readonly #logins: Logins;
  readonly #main: Credential | null;
  /** By hash, hex. */
  #kept = new Map<string, Credential>();
  #records: readonly TokenRecord[] = [];
  /** What the file looked like when it was read; `null`: it must be read. */
  #mark: string | null = null;
  #problem: string | null = null;
  readonly #loggedIn = new WeakMap<IssuedLogin, Credential>();
  /** Hashes (hex) by what callers carry of them. */
  readonly #hashes = new Map<string, string>();
  /** Credentials that were presented so far. */
  readonly #presented = new Map<string, Credential>();
  readonly #listeners = new Set<(ended: Caller) => void>();
  #timer: NodeJS.Timeout | null = null;

  private constructor(options: IdentitiesOptions) {
    const { directory, mainToken, clock = Date.now } = options;
    this.#options = options;
    this.#clock = clock;
    this.#tokens = new Tokens(path.join(directory, 'tokens.json'), clock);
    this.#logins = new Logins(clock);
    if (mainToken !== null) checkMainToken(mainToken);
    this.#main = mainToken === null ? null : mainCredential(mainToken);
  }

  /** @throws TrlError `INVALID_PARAMS` for a main token of under 32 characters */
  static open(options: IdentitiesOptions): Identities {
    const identities = new Identities(options);
    identities.#look(false);
    return identities;
  }

  /** Whether the operator gave a token (`TRL_AUTH_TOKEN`). */
  get hasMainToken(): boolean {
    return this.#main !== null;
  }

  /**
   * The caller that a token belongs to; `null`: none. While the token is valid, the same object is
   * returned, and {@link watchRevoked} reports that object when it is valid no longer.
   */
  callerOf(token: string): Caller | null {
    if (token === '' || token.length > tokenCharactersMax) return null;
    const hash = hashToken(token);
    const key = hash.toString('hex');
    this.#look();
    const found = this.#credential(key);
    if (found === null || !timingSafeEquals(found.hash, hash)) return null;
    if (this.#fault(found) !== null) return null;
    const before = this.#presented.get(key);
    // The file was invalid in between: connections of the earlier credential must end.
    if (before !== undefined && before !== found) this.#end(key, before);
    this.#presented.set(key, found);
    this.#hashes.set(found.caller.credential ?? '', key);
    return found.caller;
  }

  /**
   * Whether what a caller presented once still counts. Asked at each call: a connection that is
   * open, or a script that runs, may do no more than a new one.
   */
  isCredentialValid({ credential }: Pick<Caller, 'credential'>): boolean {
    if (credential === undefined) return true;
    this.#look();
    const known = this.#credential(this.#hashes.get(credential) ?? '');
    return known?.caller.credential === credential && this.#fault(known) === null;
  }

  /** Whether the token of this actor was revoked or has expired; a file that is no good says no. */
  hasEnded(actor: string): boolean {
    this.#look();
    if (this.#problem !== null) return false;
    const record = this.#records.find((one) => actorOf(one) === actor);
    if (record === undefined) return false;
    const { revokedAt, expiresAt } = record;
    return revokedAt !== null || (expiresAt !== null && expiresAt <= this.#clock());
  }

  /** Why {@link callerOf} answered `null`; says nothing of the token. */
  refusalReason(token: string | null): TokenRefusalReason {
    if (token === null || token === '') return 'missing';
    if (token.length > tokenCharactersMax) return 'unknown';
    const key = hashToken(token).toString('hex');
    const found = this.#credential(key);
    if (found !== null) return this.#fault(found) ?? 'unknown';
    const record = this.#records.find(({ sha256 }) => sha256 === key);
    if (this.#problem !== null && record?.revokedAt == null) return 'unreadable';
    return record === undefined ? 'unknown' : 'revoked';
  }

  /** Reports callers as {@link watchRevoked} does, but only while that is watched. */
  watchEnded(listener: (ended: Caller) => void): () => void {
    return this.#ended.add(listener);
  }

  /**
   * Calls `listener` with each caller of {@link callerOf} whose token was revoked, has expired or
   * is no longer proved, within about half a second. It must not throw.
   *
   * @returns a function that ends it
   */
  watchRevoked(listener: (ended: Caller) => void): () => void {
    this.#listeners.add(listener);
    this.#timer ??= setInterval(() => this.#tellEnded(), lookMs).unref();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this[Symbol.dispose]();
    };
  }

  /** A single-use code for the person's own browser, valid for five minutes. */
  newLogin(proof: PersonProof): { readonly code: string; readonly expiresAt: number } {
    const name = this.#approver() ?? process.getuid?.() ?? 'unknown';
    return this.#logins.issue({ actor: `person:${name}`, proof });
  }

  /** `null`: the code is none, was used, or is too old. It is used up in any case. */
  redeem(
    code: string,
  ): { readonly token: string; readonly expiresAt: number; readonly caller: Caller } | null {
    const found = this.#logins.redeem(code);
    if (found === null) return null;
    const { token, login } = found;
    const caller = this.callerOf(token);
    if (caller === null) return null;
    const { actor, roles, proof } = caller;
    const data = { roles, proof, expires_at: login.expiresAt };
    this.#options.note?.({ kind: 'login.opened', actor, data });
    return { token, expiresAt: login.expiresAt, caller };
  }

  /** A person leaves the console: from now on their login is nobody's. */
  endLogin(token: string): void {
    const key = hashToken(token).toString('hex');
    this.#logins.end(key);
    this.#tellEnded();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #credential(key: string): Credential | null {
    const { hash } = this.#main ?? {};
    if (hash !== undefined && timingSafeEquals(hash, Buffer.from(key, 'hex'))) return this.#main;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const login = this.#logins.find(key);
    if (login === null) return null;
    const known = this.#loggedIn.get(login) ?? loginCredential(login);
    this.#loggedIn.set(login, known);
    return known;
  }

  #fault({ caller, expiresAt }: Credential): 'expired' | 'unproved' | null {
    if (expiresAt !== null && expiresAt <= this.#clock()) return 'expired';
    // Where a passphrase is set, a role that nothing but the uid proved would be a way around it.
    return caller.proof === 'same_uid' && !this.#isSameUidEnough() ? 'unproved' : null;
  }

  #isSameUidEnough(): boolean {
    const { isSameUidAllowed = () => true } = this.#options;
    try {
      return this.#approver() === null && isSameUidAllowed();
    } catch {
      // An enrolment that cannot be read is one.
      return false;
    }
  }

  /** @throws TrlError `AUTH_FAILED` when the enrolment cannot be trusted */
  #approver(): string | null {
    return this.#options.enrolment.approver();
  }

  /** Reads the file again if it was replaced, and reports what is new in it. */
  #look(isTold = true): void {
    const mark = markOf(this.#tokens.file, this.#clock());
    if (mark !== null && mark === this.#mark) return;
    this.#mark = mark;
    let records: readonly TokenRecord[] = [];
    try {
      records = this.#tokens.all();
      this.#problem = null;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      if (problem !== this.#problem) this.#options.log?.(problem);
      this.#problem = problem;
      this.#mark = null;
    }
    const before = this.#kept;
    const alive = records.filter(({ revokedAt }) => revokedAt === null);
    this.#kept = new Map(
      alive.map((record) => {
        const made = tokenCredential(record);
        const known = before.get(record.sha256);
        return [record.sha256, known?.mark === made.mark ? known : made];
      }),
    );
    if (this.#problem !== null) return;
    if (isTold) this.#tell(this.#records, records);
    this.#records = records;
  }

  #tell(before: readonly TokenRecord[], now: readonly TokenRecord[]): void {
    const isAlive = ({ revokedAt }: TokenRecord): boolean => revokedAt === null;
    const idsBefore = new Set(before.map(({ id }) => id));
    const aliveNow = new Set(now.filter(isAlive).map(({ id }) => id));
    for (const record of now.filter(({ id }) => !idsBefore.has(id))) {
      this.#options.note?.({ kind: 'token.created', data: toldOf(record) });
    }
    for (const record of before.filter(isAlive).filter(({ id }) => !aliveNow.has(id))) {
      this.#options.note?.({ kind: 'token.revoked', data: toldOf(record) });
    }
  }

  #tellEnded(): void {
    this.#look();
    for (const [key, known] of this.#presented) {
      if (this.#credential(key) === known && this.#fault(known) === null) continue;
      this.#end(key, known);
    }
  }

  #end(key: string, { caller }: Credential): void {
    this.#presented.delete(key);
    this.#hashes.delete(caller.credential ?? '');
    for (const listener of this.#listeners) listener(caller);
    this.#ended.emit(caller);
  }
}

/** What of a token may be said. */
function toldOf({ id, name, roles, proof, expiresAt }: TokenRecord): AuditRecord['data'] {
  return { token_id: id, name, roles, proof, expires_at: expiresAt };
}

/** Changes with each change of the file; `null`: it has to be read to know. */
function markOf(file: string, now: number): string | null {
  try {
    const { ino, size, mtimeNs, ctimeNs } = lstatSync(file, { bigint: true });
    const isSettled = now - Number(ctimeNs / 1_000_000n) > unsettledMs;
    return isSettled ? [ino, size, mtimeNs, ctimeNs].join(' ') : null;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'none' : null;
  }
}

function mainCredential(token: string): Credential {
  const caller: Caller = {
    actor: 'token:main',
    kind: 'agent',
    authenticatedBy: 'token',
    roles: ['agent'],
    credential: 'main',
  };
  return { caller, hash: hashToken(token), expiresAt: null, mark: 'main' };
}

const actorOf = ({ id, name }: TokenRecord): string =>
  name === null ? `token:${id}` : `token:${name}/${id}`;

/** Its actor is never another's: an id is not given twice, though a name may be. */
function tokenCredential(record: TokenRecord): Credential {
  const { id, roles, proof, sha256, expiresAt } = record;
  const caller: Caller = {
    actor: actorOf(record),
    kind: needsPerson(roles) ? 'person' : 'agent',
    authenticatedBy: 'token',
    roles,
    // Another role is another credential: what was begun with the one is not gone on with.
    credential: `${id} ${roles.join(' ')}`,
    ...(proof === null ? {} : { proof }),
  };
  const hash = Buffer.from(sha256, 'hex');
  return { caller, hash, expiresAt, mark: JSON.stringify(record) };
}

function loginCredential({ person, hash, expiresAt }: IssuedLogin): Credential {
  const caller: Caller = {
    actor: person.actor,
    kind: 'person',
    authenticatedBy: 'login',
    roles: ['approver', 'auditor'],
    credential: randomUUID(),
    proof: person.proof,
  };
  return { caller, hash, expiresAt, mark: 'login' };
}
