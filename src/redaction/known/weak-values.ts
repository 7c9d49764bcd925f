/**
 * Values that are also ordinary text: `postgres`, `1234`. Hiding them everywhere would hide paths,
 * names and code. They are hidden only in a context that shows they are meant: after the secret's
 * name or another name of a secret, and in logins.
 */
import { classifyName } from '../detect/name-class.ts';
import type { SecretFinding } from '../secret-finding.ts';
import type { KnownValue } from '../../redacted.ts';
import { basicLoginPattern, findLoginPasswords } from './logins.ts';

const quoteAfter = String.raw`(?:\\?["'\x60\])]){0,2}`;
/**
 * A name or the user of a login, and the text between it and a value. Each part is bounded: hostile
 * output costs at most 64 attempts for each character.
 */
const valueStart = new RegExp(
  `(?:(-?)([A-Za-z_][\\w.-]{0,63})${quoteAfter}[ \\t]{0,8}(:=|=>|[:=,>|]|[ \\t])|//(:))` +
    String.raw`[ \t]{0,8}(?:!{1,2}\w{1,16}[ \t])?\$?(\\?["'\x60])?`,
  'g',
);

/** `DB_PASSWORD is postgres` */
const sentence = /\b([A-Za-z_]\w{0,63})[ \t]{1,8}(?:is|was|set to)[ \t]{1,8}["'\x60]?/g;

interface WeakForm {
  /** One character for each byte. */
  readonly text: string;
  readonly name: string;
}

export class WeakValues {
  readonly values: readonly KnownValue[];
  /** Longest first. */
  readonly #weak: readonly WeakForm[];
  readonly #names: ReadonlySet<string>;

  constructor(values: readonly KnownValue[]) {
    this.values = values;
    this.#names = new Set(values.map(({ name }) => name.toLowerCase()));
    this.#weak = values
      .filter(({ value }) => value !== '')
      .flatMap(({ name, value }) => forms(value).map((text) => ({ name, text })))
      .toSorted((a, b) => b.text.length - a.text.length);
  }

  /**
   * @param text lines; one character is one byte
   * @returns findings in order, not overlapping
   */
  find(text: string): SecretFinding[] {
    const mayHold = this.#weak.some((weak) => text.includes(weak.text));
    const found = mayHold ? [this.#beside(text), this.#logins(text)] : [];
    const all = [...found, this.#encoded(text)].flat().toSorted((a, b) => a.start - b.start);
    return all.filter(({ start }, at) => at === 0 || start >= (all[at - 1]?.end ?? 0));
  }

  /** After a name, and in addresses. */
  #beside(text: string): SecretFinding[] {
    const found: SecretFinding[] = [];
    for (const match of text.matchAll(valueStart)) {
      const [whole, dash = '', name = '', between = '', login = '', quote = ''] = match;
      const weak = this.#at(text, match.index + whole.length);
      if (weak === null) continue;
      const isLogin = text[weak.end] === '@' && (between === ':' || login !== '');
      const beside = { name, between, isFlag: dash !== '', isQuoted: quote !== '' };
      if (isLogin || this.#isNamed(beside)) found.push(weak);
    }
    return found;
  }

  /** In logins without a name. */
  #logins(text: string): SecretFinding[] {
    const found: SecretFinding[] = [];
    for (const { 0: line, index } of text.matchAll(/[^\n]+/g)) {
      if (!this.#weak.some((weak) => line.includes(weak.text))) continue;
      for (const at of new Set(findLoginPasswords(line))) {
        const weak = this.#at(text, index + at);
        if (weak !== null) found.push(weak);
      }
      for (const { 0: whole, 1: name = '', index: from } of line.matchAll(sentence)) {
        const weak = this.#names.has(name.toLowerCase())
          ? this.#at(text, index + from + whole.length)
          : null;
        if (weak !== null) found.push(weak);
      }
    }
    return found;
  }

  /** `user:password` in base64. */
  #encoded(text: string): SecretFinding[] {
    return Array.from(text.matchAll(basicLoginPattern)).flatMap(
      ({ 0: whole, 1: encoded = '', index }) => {
        const login = Buffer.from(encoded, 'base64').toString('latin1');
        const password = login.slice(login.indexOf(':') + 1).trimEnd();
        const weak = login.includes(':')
          ? this.#weak.find((one) => one.text === password)
          : undefined;
        const end = index + whole.length;
        return weak === undefined ? [] : [hidden(end - encoded.length, end, weak)];
      },
    );
  }

  /** The value that begins there, as a whole word. */
  #at(text: string, start: number): SecretFinding | null {
    const weak = this.#weak.find((one) => text.startsWith(one.text, start));
    if (weak === undefined) return null;
    const end = start + weak.text.length;
    return /[\w-]/.test(text[end] ?? '') ? null : hidden(start, end, weak);
  }

  #isNamed(beside: {
    readonly name: string;
    readonly between: string;
    readonly isFlag: boolean;
    readonly isQuoted: boolean;
  }): boolean {
    const { name, between, isFlag, isQuoted } = beside;
    if (this.#names.has(name.toLowerCase())) return true;
    // In prose, other names precede a word often: `the password test`.
    if (/^[ \t,]$/.test(between) && !isFlag && !isQuoted) return false;
    const kind = classifyName(name);
    return kind === 'password' || kind === 'secret' || kind === 'likely';
  }
}

const hidden = (start: number, end: number, { name }: WeakForm): SecretFinding => {
  return { start, end, kind: 'known', rule: 'known-weak', score: 1, key: name };
};

/** As it is, and as files of secrets encode it. */
function forms(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  const line = Buffer.from(`${value}\n`);
  const encoded = [bytes, line].flatMap((one) => [
    one.toString('base64'),
    one.toString('base64').replace(/=+$/, ''),
    one.toString('hex'),
    one.toString('hex').toUpperCase(),
  ]);
  const escaped = encodeURIComponent(value.toWellFormed());
  return [...new Set([bytes.toString('latin1'), escaped, ...encoded])];
}
