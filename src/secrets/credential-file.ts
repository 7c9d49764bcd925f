/**
 * A file with credentials, such as `~/.npmrc`. Commands see it with placeholders in their place;
 * the bridge of their session puts the values into requests to the hosts of the file.
 */
import { closeSync, constants, fstatSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { readSecretBytes } from './dotenv-source.ts';
import { isSecretLikeName } from './name-words.ts';
import { errnoOf, secretUnavailableError } from './source.ts';
import type { SecretSource } from './source.ts';

const { O_NONBLOCK, O_RDONLY } = constants;
const fileBytesMax = 64 * 1024;
const secretsMax = 32;

/** A credential in the text of a file. */
interface Found {
  readonly value: string;
  /** As it stands there. */
  readonly text: string;
  /** Writes another value in the same way. */
  readonly write: (value: string) => string;
}

interface Read {
  readonly mark: string;
  readonly text: string;
  readonly found: ReadonlyMap<string, Found>;
}

export class CredentialFile implements SecretSource {
  readonly kind = 'file';
  readonly origin: string;
  readonly cacheMs = 0;
  #read: Read | null = null;

  /** @param file absolute */
  constructor(file: string) {
    this.origin = file;
  }

  mark(): string {
    return markOf(this.origin);
  }

  async names(): Promise<readonly string[]> {
    return [...this.#current().found.keys()];
  }

  async read(name: string): Promise<string | null> {
    if (this.mark() === 'ENOENT') return null;
    return this.#current().found.get(name)?.value ?? null;
  }

  /**
   * What commands see; `null`: there is no such file.
   *
   * @param makePlaceholder what stands in the place of a value
   * @throws TrlError `SECRET_UNAVAILABLE`; what `makePlaceholder` throws
   */
  masked(makePlaceholder: (name: string, value: string) => string): string | null {
    if (this.mark() === 'ENOENT') return null;
    const { text, found } = this.#current();
    const all = [...found].toSorted(([, a], [, b]) => b.text.length - a.text.length);
    return all.reduce(
      (shown, [name, one]) =>
        shown.replaceAll(one.text, () => one.write(makePlaceholder(name, one.value))),
      text,
    );
  }

  #current(): Read {
    const mark = this.mark();
    if (this.#read?.mark !== mark) {
      const text = readText(this.origin);
      const found = credentialsIn(text).slice(0, secretsMax);
      const named = found.map((one, at) => [nameOf(this.origin, at), one] as const);
      this.#read = { mark, text, found: new Map(named) };
    }
    return this.#read;
  }
}

/** `~/.npmrc` → `NPMRC`, `NPMRC_2`: as a variable would be named. */
function nameOf(file: string, at: number): string {
  const words = path
    .basename(file)
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_');
  const name = words.replace(/^_+/, '').replace(/^(?=\d|$)/, 'FILE_');
  return at === 0 ? name : `${name}_${at + 1}`;
}

function markOf(file: string): string {
  try {
    const { ino, size, mtimeNs, ctimeNs } = statSync(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(' ');
  } catch (error) {
    return `${errnoOf(error)}`;
  }
}

function readText(file: string): string {
  const action = `read credentials from "${file}"`;
  let fd: number;
  try {
    // Not blocking: a FIFO in its place would otherwise hold the daemon.
    fd = openSync(file, O_RDONLY | O_NONBLOCK);
  } catch (cause) {
    throw secretUnavailableError(action, `${errnoOf(cause)}`, cause);
  }
  try {
    const { size, mode } = fstatSync(fd);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw secretUnavailableError(action, 'it is no regular file');
    }
    if (size > fileBytesMax) throw secretUnavailableError(action, `over ${fileBytesMax} bytes`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readSecretBytes(fd, fileBytesMax));
  } catch (cause) {
    if (cause instanceof TypeError) throw secretUnavailableError(action, 'it is no UTF-8 text');
    throw cause;
  } finally {
    closeSync(fd);
  }
}

/** The credentials of a text, in its order: one word, JSON, or lines of names and values. */
export function credentialsIn(text: string): readonly Found[] {
  const word = text.trim();
  const found = /^\S+$/.test(word) && !/^[[{]/.test(word) ? ofWord(word) : ofText(text);
  const distinct = new Map(found.filter(isLong).map((one) => [one.text, one]));
  return [...distinct.values()];
}

const isLong = ({ value }: Found): boolean => /(?:[A-Za-z0-9][^A-Za-z0-9]*){8}/.test(value);
const plain = (value: string): Found => ({ value, text: value, write: (other) => other });

/** All of it, or the password of a URL. */
const ofWord = (word: string): readonly Found[] => {
  const inUrl = passwordsIn(word);
  return inUrl.length > 0 ? inUrl : [plain(word)];
};

function ofText(text: string): readonly Found[] {
  const pairs =
    /["']?([\w.@:/-]*\w)["']?(?:[ \t]*[:=][ \t]*|[ \t]+)(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"',;]+))/g;
  const named = [...text.matchAll(pairs)].flatMap(([, name = '', double, single, bare]) => {
    const value = double ?? single ?? bare ?? '';
    const last = name.split(/[/:.]/).at(-1) ?? '';
    // What Docker keeps: user and password in base64.
    if (last === 'auth' || last === '_auth') return ofBasic(value);
    return isSecretLikeName(last) || /^(?:oauth|identitytoken)$/i.test(last) ? [plain(value)] : [];
  });
  return [...passwordsIn(text), ...named];
}

function passwordsIn(text: string): readonly Found[] {
  const urls = text.matchAll(/[a-z][a-z0-9+.-]*:\/\/[^\s/@:"']*:([^\s/@"']+)@/gi);
  return [...urls].flatMap(([, password = '']) => {
    try {
      const value = decodeURIComponent(password);
      return [{ value, text: password, write: (other: string) => encodeURIComponent(other) }];
    } catch {
      return [plain(password)];
    }
  });
}

function ofBasic(text: string): readonly Found[] {
  const [user = '', ...rest] = Buffer.from(text, 'base64').toString('utf8').split(':');
  if (rest.length === 0) return [plain(text)];
  const write = (other: string): string => Buffer.from(`${user}:${other}`).toString('base64');
  return [{ value: rest.join(':'), text, write }];
}
