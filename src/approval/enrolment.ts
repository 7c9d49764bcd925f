/**
 * The passphrase that shows that a person decides. Kept as a slow hash (scrypt, RFC 7914) in
 * `$XDG_CONFIG_HOME/trl/approver.json`, beside nothing that could be turned back into it. This
 * file reads and writes the configuration and state directories; it protects against anyone who
 * speaks to the runtime, not against anyone who can write these files.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { fieldOf } from '../json-shape.ts';
import { TrlError } from '../errors.ts';
import { readPrivateFile, writePrivateFile } from '../private-file.ts';

const charactersMin = 8;
const bytesMax = 1_024;
const fileBytesMax = 4_096;
const keyBytes = 32;
const saltBytes = 32;
/** Wrong proofs that are answered at once. */
const wrongFree = 5;
const waitFirstMs = 1_000;
const waitMsMax = 300_000;
/** 2^17 with r = 8 is 128 MiB and about half a second. */
const usualCost = { n: 2 ** 17, r: 8, p: 1 } as const;

interface Cost {
  readonly n: number;
  readonly r: number;
  readonly p: number;
}
interface Record extends Cost {
  readonly v: 1;
  readonly name: string;
  readonly salt: string;
  readonly hash: string;
}
interface Attempts {
  readonly wrong: number;
  /** Unix ms of the last wrong proof. */
  readonly at: number;
}

export interface EnrolmentOptions {
  /** `approver.json`; see {@link enrolmentFiles}. */
  readonly file: string;
  /** Where wrong proofs are counted, so that a restart does not forget them. */
  readonly attemptsFile: string;
  /** Unix ms. Default `Date.now`. */
  readonly clock?: () => number;
  /** Of new passphrases. Default n = 2^17, r = 8, p = 1. */
  readonly cost?: Cost;
}

/** Where both files of this user lie. `home` is absolute. */
export function enrolmentFiles(
  env: Readonly<{ [name: string]: string | undefined }>,
  home: string,
): Pick<EnrolmentOptions, 'file' | 'attemptsFile'> {
  const config = env['XDG_CONFIG_HOME'] || `${home}/.config`;
  const state = env['XDG_STATE_HOME'] || `${home}/.local/state`;
  return {
    file: `${config}/trl/approver.json`,
    attemptsFile: `${state}/trl/approver-attempts.json`,
  };
}

export class Enrolment {
  readonly #options: EnrolmentOptions;
  readonly #clock: () => number;
  /** Proofs are checked one after another, or many at once would not be counted. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: EnrolmentOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
  }

  /**
   * Who is enrolled, or `null` when nobody is.
   *
   * @throws TrlError `AUTH_FAILED` when the file cannot be trusted or read: that is not nobody
   */
  approver(): string | null {
    return this.#read()?.name ?? null;
  }

  /**
   * Whether `passphrase` is the one enrolled; a wrong one is counted before it is looked at.
   *
   * @throws TrlError `AUTH_FAILED` when nobody is enrolled or the file cannot be trusted;
   *   `QUOTA_EXCEEDED` while the wait after five wrong ones lasts
   */
  verify(passphrase: string): Promise<boolean> {
    return this.#inTurn(() => this.#verify(passphrase));
  }

  /**
   * Sets the passphrase. `old` is needed where there is one.
   *
   * @throws TrlError `INVALID_PARAMS` for one of under 8 characters; `AUTH_FAILED` when `old` is
   *   missing or wrong; `QUOTA_EXCEEDED` as {@link verify}
   */
  enrol(name: string, passphrase: string, old: string | null): Promise<void> {
    return this.#inTurn(async () => {
      checkNew(passphrase);
      if (this.#read() !== null && (old === null || !(await this.#verify(old)))) {
        throw refused('the passphrase so far is needed, and was not given');
      }
      const cost = this.#options.cost ?? usualCost;
      const salt = randomBytes(saltBytes);
      const hash = await derive(passphrase, salt, cost);
      const { n, r, p } = cost;
      const coded = { salt: salt.toString('base64'), hash: hash.toString('base64') };
      const record: Record = { v: 1, name, n, r, p, ...coded };
      writePrivateFile(this.#options.file, `${JSON.stringify(record)}\n`);
      this.#count({ wrong: 0, at: 0 });
    });
  }

  async #verify(passphrase: string): Promise<boolean> {
    const record = this.#read();
    if (record === null) throw refused('nobody is enrolled; see: trl approvals enroll');
    const { wrong, at } = this.#attempts();
    const now = this.#clock();
    const waitMs = wrong < wrongFree ? 0 : Math.min(waitMsMax, waitFirstMs * 2 ** (wrong - 5));
    // A clock that was set back must not make the wait longer than it is.
    const leftMs = Math.min(waitMs, at + waitMs - now);
    if (leftMs > 0) {
      const reason = `${wrong} wrong passphrases; wait ${Math.ceil(leftMs / 1_000)} s`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot check the passphrase: ${reason}`);
    }
    // Counted first: a daemon that is killed meanwhile has not forgotten it.
    this.#count({ wrong: Math.min(wrong + 1, 64), at: now });
    if (Buffer.byteLength(passphrase) > bytesMax) return false;
    const found = await derive(passphrase, Buffer.from(record.salt, 'base64'), record);
    const isRight = timingSafeEqual(found, Buffer.from(record.hash, 'base64'));
    if (isRight) this.#count({ wrong: 0, at: 0 });
    return isRight;
  }

  #read(): Record | null {
    const text = readPrivateFile(this.#options.file, fileBytesMax);
    if (text === null) return null;
    const record = parse(text);
    if (isRecord(record)) return record;
    throw refused(`"${this.#options.file}" is not an enrolment; remove it and enroll again`);
  }

  /** What cannot be read counts as five: the next proof is taken after the first wait. */
  #attempts(): Attempts {
    const text = readPrivateFile(this.#options.attemptsFile, fileBytesMax);
    if (text === null) return { wrong: 0, at: 0 };
    const found = parse(text);
    if (isAttempts(found)) return found;
    const counted = { wrong: wrongFree, at: this.#clock() };
    this.#count(counted);
    return counted;
  }

  #count(attempts: Attempts): void {
    writePrivateFile(this.#options.attemptsFile, `${JSON.stringify(attempts)}\n`);
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** One form for characters that keyboards spell in two. */
const formOf = (passphrase: string): string => passphrase.normalize('NFC');

function checkNew(passphrase: string): void {
  const characters = Array.from(formOf(passphrase)).length;
  if (characters >= charactersMin && Buffer.byteLength(passphrase) <= bytesMax) return;
  const wanted = `it must have ${charactersMin} characters or more, and ${bytesMax} bytes at most`;
  throw new TrlError('INVALID_PARAMS', `Cannot set the passphrase: ${wanted}`);
}

function derive(passphrase: string, salt: Buffer, { n, r, p }: Cost): Promise<Buffer> {
  // scrypt needs slightly more than 128·N·r bytes; Node's default limit is 32 MiB.
  const options = { N: n, r, p, maxmem: 128 * n * r + 64 * 1_024 * 1_024 };
  return new Promise((resolve, reject) => {
    scrypt(formOf(passphrase), salt, keyBytes, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function parse(text: string): object {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null ? found : {};
  } catch {
    return {};
  }
}

/** Parameters are bounded: a file that asks for terabytes must not end the daemon. */
function isRecord(found: object): found is Record {
  const number = (name: string, max: number): boolean => {
    const value = fieldOf(found, name);
    return Number.isInteger(value) && Number(value) > 0 && Number(value) <= max;
  };
  const bytes = (name: string, length: number): boolean => {
    const value = fieldOf(found, name);
    return typeof value === 'string' && Buffer.from(value, 'base64').length === length;
  };
  const isBounded = number('n', 2 ** 18) && number('r', 16) && number('p', 4);
  const isCoded = bytes('salt', saltBytes) && bytes('hash', keyBytes);
  const isNamed = typeof fieldOf(found, 'name') === 'string' && fieldOf(found, 'v') === 1;
  return isBounded && isCoded && isNamed;
}

function isAttempts(found: object): found is Attempts {
  return ['wrong', 'at'].every((name) => Number.isSafeInteger(fieldOf(found, name)));
}

function refused(reason: string): TrlError {
  return new TrlError('AUTH_FAILED', `Cannot prove a person: ${reason}`);
}
