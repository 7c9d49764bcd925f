/**
 * Tokens as they are kept, one JSON file:
 *
 *   {"v":1,"tokens":[{"id":"t-0123456789abcdef","name":"ci","roles":["agent"],"sha256":"…",
 *     "proof":null,"created_at":1700000000000,"expires_at":null,"revoked_at":null}]}
 *
 * A file that is anything else is none: no token in it counts.
 */
import type { Role } from '../command.ts';
import { TrlError } from '../errors.ts';

export type TokenId = `t-${string}`;

/** How a person was proved: by the enrolled passphrase, or by nothing but the user's uid. */
export type PersonProof = 'passphrase' | 'same_uid';

export interface TokenRecord {
  /** `t-` and 16 lower-case hex digits; never given again. */
  readonly id: TokenId;
  readonly name: string | null;
  readonly roles: readonly Role[];
  /** Of the token, hex. */
  readonly sha256: string;
  /** Of the person who made it; `null`: an agent's token needs none. */
  readonly proof: PersonProof | null;
  /** Unix ms, as all that follow. */
  readonly createdAt: number;
  /** `null`: never. */
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

export const allRoles = [
  'agent',
  'approver',
  'auditor',
  'admin',
] as const satisfies readonly Role[];
const proofs = ['passphrase', 'same_uid'] as const satisfies readonly PersonProof[];

/** Tokens that are not revoked. */
export const tokensMax = 1_000;
/** Records in a file: revoked ones stay a while, so that their use is recognised. */
export const tokenRecordsMax = 2 * tokensMax;
/** Of one record about 300. */
export const tokensFileBytesMax = 1_024 * 1_024;

const keys = [
  'id',
  'name',
  'roles',
  'sha256',
  'proof',
  'created_at',
  'expires_at',
  'revoked_at',
] as const;

/** A name is a word: it appears in the log and on command lines. */
export const isTokenName = (name: string): boolean =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) && !name.startsWith('t-');

const isTokenId = (id: string): id is TokenId => /^t-[0-9a-f]{16}$/.test(id);

export function formatTokenRecords(records: readonly TokenRecord[]): string {
  const tokens = records.map((one) => ({
    id: one.id,
    name: one.name,
    roles: one.roles,
    sha256: one.sha256,
    proof: one.proof,
    created_at: one.createdAt,
    expires_at: one.expiresAt,
    revoked_at: one.revokedAt,
  }));
  return `${JSON.stringify({ v: 1, tokens })}\n`;
}

/**
 * @throws TrlError `AUTH_FAILED` for a text that is not exactly what {@link formatTokenRecords}
 * makes
 */
export function parseTokenRecords(text: string, file: string): readonly TokenRecord[] {
  const refuse = (why: string): TrlError =>
    new TrlError('AUTH_FAILED', `Cannot use "${file}": ${why}; no token in it counts`);
  const whole = parse(text);
  const tokens = isPlain(whole) && hasKeys(whole, ['v', 'tokens']) ? whole['tokens'] : null;
  if (!isPlain(whole) || whole['v'] !== 1 || !Array.isArray(tokens)) {
    throw refuse('it is not a file of tokens');
  }
  if (tokens.length > tokenRecordsMax) throw refuse(`it has more than ${tokenRecordsMax} records`);
  const records = tokens.map((one: unknown, at) => {
    const record = readRecord(one);
    if (record === null) throw refuse(`record ${at + 1} is not a token's`);
    return record;
  });
  const alive = records.filter(({ revokedAt }) => revokedAt === null);
  const names = alive.flatMap(({ name }) => name ?? []);
  const areUnique =
    hasNoTwo(records.map(({ id }) => id)) &&
    hasNoTwo(records.map(({ sha256 }) => sha256)) &&
    hasNoTwo(names);
  if (!areUnique) throw refuse('an id, a name or a hash is there twice');
  return records;
}

function readRecord(found: unknown): TokenRecord | null {
  if (!isPlain(found) || !hasKeys(found, keys)) return null;
  const { id, name, sha256, proof } = found;
  const roles = readRoles(found['roles']);
  const createdAt = timeOf(found['created_at']);
  const expiresAt = timeOf(found['expires_at']);
  const revokedAt = timeOf(found['revoked_at']);
  if (typeof id !== 'string' || !isTokenId(id) || roles === null) return null;
  if (name !== null && (typeof name !== 'string' || !isTokenName(name))) return null;
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/.test(sha256)) return null;
  if (typeof createdAt !== 'number') return null;
  if (expiresAt === undefined || revokedAt === undefined) return null;
  const knownProof = proofs.find((one) => one === proof) ?? null;
  if (knownProof !== proof) return null;
  // A role that a person has is nothing without how the person was proved.
  if (needsPerson(roles) && knownProof === null) return null;
  return { id, name, roles, sha256, proof: knownProof, createdAt, expiresAt, revokedAt };
}

/** Whether a person must make a token of these roles. */
export const needsPerson = (roles: readonly Role[]): boolean =>
  roles.some((role) => role !== 'agent');

function readRoles(found: unknown): readonly Role[] | null {
  if (!Array.isArray(found) || found.length === 0 || found.length > allRoles.length) return null;
  const roles = found.flatMap((one: unknown) => allRoles.find((role) => role === one) ?? []);
  return roles.length === found.length && hasNoTwo(roles) ? roles : null;
}

/** `undefined`: it is no time. */
function timeOf(found: unknown): number | null | undefined {
  if (found === null) return null;
  return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const hasKeys = (value: object, wanted: readonly string[]): boolean =>
  Object.keys(value).length === wanted.length && wanted.every((key) => Object.hasOwn(value, key));

const hasNoTwo = (words: readonly string[]): boolean => new Set(words).size === words.length;
