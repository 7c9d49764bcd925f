/**
 * Values that are ordinary text, too: `postgres`, `1234`. To hide them wherever they are written
 * would hide paths, names and code. They are hidden only where what stands beside them says that
 * they are meant: the name of the secret, or another name of a secret, before them; a login.
 */
import { classifyName } from '../detect/names.ts';
import type { Finding, KnownValue } from '../finding.ts';

const quoteAfter = String.raw`(?:\\?["'\x60\])]){0,2}`;
/**
 * A name or the user of a login, and what may stand between it and a value. Each part is bounded:
 * hostile output costs no more than 64 looks a character.
 */
const place = new RegExp(
  `(?:(-?)([A-Za-z_][\\w.-]{0,63})${quoteAfter}[ \\t]{0,8}(:=|=>|[:=,>|]|[ \\t])|//(:))` +
    String.raw`[ \t]{0,8}(\\?["'\x60])?`,
  'g',
);

interface Weak {
  /** One character is one byte. */
  readonly text: string;
  readonly name: string;
}

export class WeakValues {
  readonly values: readonly KnownValue[];
  /** The longest first. */
  readonly #weak: readonly Weak[];
  readonly #names: ReadonlySet<string>;

  constructor(values: readonly KnownValue[]) {
    this.values = values;
    this.#names = new Set(values.map(({ name }) => name.toLowerCase()));
    this.#weak = values
      .map(({ name, value }) => ({ name, text: Buffer.from(value).toString('latin1') }))
      .filter(({ text }) => text !== '')
      .toSorted((a, b) => b.text.length - a.text.length);
  }

  /**
   * @param text lines, of which one character is one byte
   * @returns in order, not overlapping
   */
  find(text: string): Finding[] {
    if (!this.#weak.some((weak) => text.includes(weak.text))) return [];
    const found: Finding[] = [];
    for (const match of text.matchAll(place)) {
      const [whole, dash = '', name = '', between = '', login = '', quote = ''] = match;
      const start = match.index + whole.length;
      const weak = this.#weak.find((one) => text.startsWith(one.text, start));
      if (weak === undefined) continue;
      const end = start + weak.text.length;
      const next = text[end] ?? '';
      if (/[\w-]/.test(next)) continue;
      const isLogin = next === '@' && (between === ':' || login !== '');
      const beside = { name, between, isFlag: dash !== '', isQuoted: quote !== '' };
      if (!isLogin && !this.#isNamed(beside)) continue;
      found.push({ start, end, kind: 'known', rule: 'known-weak', score: 1, key: weak.name });
    }
    return found;
  }

  #isNamed(beside: {
    readonly name: string;
    readonly between: string;
    readonly isFlag: boolean;
    readonly isQuoted: boolean;
  }): boolean {
    const { name, between, isFlag, isQuoted } = beside;
    if (this.#names.has(name.toLowerCase())) return true;
    // Of other names, prose has many before a word: `the password test`.
    if (/^[ \t,]$/.test(between) && !isFlag && !isQuoted) return false;
    const kind = classifyName(name);
    return kind === 'password' || kind === 'secret' || kind === 'likely';
  }
}
