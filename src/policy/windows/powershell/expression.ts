/** What an expression of PowerShell comes to, as far as its constants tell. */
import type { SourceSpan } from '../../analysis.ts';
import type { DotNetCall, WindowsCommand, WindowsWord } from '../words.ts';
import { WindowsWordBuilder } from '../words.ts';

type Token =
  | { readonly kind: 'word'; readonly word: WindowsWord }
  | { readonly kind: 'type'; readonly name: string; readonly span: SourceSpan }
  | { readonly kind: 'symbol'; readonly text: string; readonly span: SourceSpan }
  | {
      readonly kind: 'group';
      readonly inner: readonly WindowsCommand[];
      readonly span: SourceSpan;
    };

const textLength = 4_096;

/** Collects the tokens of one expression. */
export class PowerShellExpression {
  readonly #tokens: Token[] = [];
  readonly #calls: DotNetCall[] = [];
  #variable: string | null = null;
  #block = false;

  text(word: WindowsWord): void {
    this.#tokens.push({ kind: 'word', word });
  }

  variable(name: string, word: WindowsWord): void {
    const scoped = name.toLowerCase().replace(/^(?:global|script|local|private):/, '');
    this.#variable = scoped;
    this.#tokens.push({ kind: 'word', word });
  }

  type(name: string, span: SourceSpan): void {
    this.#tokens.push({ kind: 'type', name: name.toLowerCase().replace(/^system\./, ''), span });
  }

  symbol(text: string, span: SourceSpan): void {
    this.#tokens.push({ kind: 'symbol', text: text.toLowerCase(), span });
  }

  /** `[0]` behind a value: what it takes is not known. */
  index(inner: readonly WindowsCommand[]): void {
    this.#tokens.push({ kind: 'group', inner, span: [0, 0] });
  }

  group(inner: readonly WindowsCommand[], block: boolean, span: SourceSpan): void {
    this.#block ||= block;
    const [before, colon] = [this.#tokens.at(-2), this.#tokens.at(-1)];
    if (colon?.kind === 'symbol' && /^(?:::|\??\.)\w/.test(colon.text)) {
      const args = inner.flatMap(({ words }) => words);
      const owner = before?.kind === 'type' ? before.name : '';
      const name = `${owner}${colon.text.replace(/^\??\./, '.')}`;
      this.#calls.push({
        name,
        args,
        span: [before?.kind === 'type' ? before.span[0] : span[0], span[1]],
      });
    }
    this.#tokens.push({ kind: 'group', inner, span });
  }

  /** The variable that an `=` after the tokens assigns, in lower case; `null`: something else. */
  target(): string | null {
    const words = this.#tokens.filter(({ kind }) => kind !== 'type');
    return words.length === 1 ? this.#variable : null;
  }

  result(span: SourceSpan): {
    words: readonly WindowsWord[];
    calls: readonly DotNetCall[];
    visible: boolean;
  } {
    const visible = !this.#block && isVisible(this.#tokens);
    const binds = this.#tokens.some(({ kind, ...token }) => kind === 'symbol' && isBinding(token));
    const parts = binds ? [this.#tokens] : split(this.#tokens);
    const words = this.#tokens.length === 0 ? [] : parts.map((part) => folded(part, span));
    return { words, calls: this.#calls, visible };
  }
}

/** `-f` and `-join` take all of a list: the comma binds closer than they do. */
const isBinding = (token: object): boolean =>
  'text' in token && (token.text === '-f' || token.text === '-join');

function split(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'symbol' && token.text === ',') parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

/** Whether the value itself is written out: variables and texts, joined at most. */
function isVisible(tokens: readonly Token[]): boolean {
  return tokens.every((token) => {
    if (token.kind === 'word' || token.kind === 'type') return true;
    if (token.kind === 'symbol') {
      return /^(?:\+|,|::\w+|\??\.(?!length$|count$)\w+|-join|-f|-replace|-split)$/.test(
        token.text,
      );
    }
    return token.kind === 'group' && token.inner.every(({ kind }) => kind === 'value');
  });
}

/** One word for the tokens between two commas. */
function folded(tokens: readonly Token[], span: SourceSpan): WindowsWord {
  const made = new WindowsWordBuilder();
  made.quoted = true;
  const value = constant(tokens);
  if (value !== null) {
    made.add(value.slice(0, textLength));
  } else {
    const [only] = tokens;
    if (tokens.length === 1 && only?.kind === 'word') return only.word;
    for (const token of tokens) {
      if (token.kind === 'word') made.join(token.word);
      else if (token.kind !== 'symbol' || token.text !== '+') made.gap();
    }
  }
  for (const token of value === null ? [] : tokens) {
    if (token.kind === 'word') made.variables.push(...token.word.variables);
  }
  const [only] = tokens;
  if (tokens.length === 1 && only?.kind === 'group') made.group.push(...only.inner);
  return made.word(span);
}

/** The text that constants come to: `+`, `-f`, `-join ''`, `[char]105`, `.Replace('a', 'b')`. */
function constant(tokens: readonly Token[]): string | null {
  const at = tokens.findIndex((token) => token.kind === 'symbol' && isBinding(token));
  const sign = tokens[at];
  if (sign?.kind === 'symbol') {
    const before = items(tokens.slice(0, at));
    const after = items(tokens.slice(at + 1));
    if (after === null || (at > 0 && before === null)) return null;
    if (sign.text === '-f') return formatted(before?.[0] ?? '', after);
    return at === 0 ? after.join('') : (before ?? []).join(after[0] ?? '');
  }
  const [first, used] = operand(tokens, 0);
  if (first?.length !== 1) return null;
  let out = first.join('');
  let from = used;
  while (from < tokens.length) {
    const token = tokens[from];
    const next = tokens[from + 1];
    if (token?.kind !== 'symbol' || out.length > textLength) return null;
    if (token.text === '+') {
      const [added, width] = operand(tokens, from + 1);
      if (added?.length !== 1) return null;
      out += added.join('');
      from += 1 + width;
    } else if (token.text === '.replace' && next?.kind === 'group') {
      const [search, replacement] = listed(next.inner) ?? [];
      if (search === undefined || search === '' || replacement === undefined) return null;
      if (out.length * (replacement.length + 1) > 65_536) return null;
      out = out.replaceAll(search, () => replacement);
      from += 2;
    } else {
      return null;
    }
  }
  return out;
}

/** The texts of a list: `'a', ('b' + 'c')`. */
function items(tokens: readonly Token[]): readonly string[] | null {
  const parts = split(tokens);
  if (parts.length === 1) {
    return operand(tokens, 0)[1] === tokens.length ? operand(tokens, 0)[0] : null;
  }
  const values = parts.map((part) => constant(part));
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? known : null;
}

/** The texts that the tokens from `at` on stand for, and how many tokens they are. */
function operand(tokens: readonly Token[], at: number): [readonly string[] | null, number] {
  const token = tokens[at];
  if (token?.kind === 'word') return [token.word.value === null ? null : [token.word.value], 1];
  if (token?.kind === 'group') return [listed(token.inner), 1];
  if (token?.kind === 'symbol' && /^\d+$/.test(token.text)) return [[token.text], 1];
  if (token?.kind === 'type') {
    const [inner, used] = operand(tokens, at + 1);
    if (inner === null) return [null, used + 1];
    if (!token.name.startsWith('char')) return [token.name === 'string' ? inner : null, used + 1];
    const letters = inner.map((one) =>
      /^\d{1,5}$/.test(one) ? String.fromCharCode(Number(one)) : one,
    );
    return [letters, used + 1];
  }
  return [null, 1];
}

function listed(inner: readonly WindowsCommand[]): readonly string[] | null {
  const [only] = inner;
  if (inner.length !== 1 || only?.kind !== 'value') return null;
  const values = only.words.map(({ value }) => value);
  const known = values.filter((value) => value !== null);
  return known.length === values.length ? known : null;
}

function formatted(form: string, values: readonly string[]): string | null {
  const out = form.replaceAll(
    /\{(\d{1,2})\}/g,
    (whole, index: string) => values[Number(index)] ?? whole,
  );
  return out.includes('{') || out.length > textLength ? null : out;
}
