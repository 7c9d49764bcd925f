/** The words of PowerShell: quotes, escapes, variables, here-strings, redirects, blanks. */
import {
  windowsGroupDepthMax,
  WindowsLexer,
  windowsTextWord,
  WindowsWordBuilder,
  type WindowsCommand,
  type WindowsWord,
} from '../words.ts';

// PowerShell reads curly quotes and blanks of all kinds as the plain ones.
export const isQuote = (letter: string): boolean => /['‘’‚‛"“”„]/.test(letter);
const isSingleQuote = (letter: string): boolean => /['‘’‚‛]/.test(letter);
const isDoubleQuote = (letter: string): boolean => /["“”„]/.test(letter);
export const isNewline = (letter: string): boolean => letter === '\n' || letter === '\r';
const isBlank = (letter: string): boolean => /[^\S\r\n]|\u{85}/u.test(letter);

const escapes: ReadonlyMap<string, string> = new Map([
  ...Object.entries({ 0: '\0', a: '\x07', b: '\b', e: '\x1b', f: '\f', n: '\n' }),
  ...Object.entries({ r: '\r', t: '\t', v: '\v' }),
]);
const unescaped = (letter: string): string => escapes.get(letter) ?? letter;

/** Reads word by word; groups inside words are read by the statements' reader. */
export abstract class PowerShellLexer extends WindowsLexer {
  /** Variables with one constant value, by name in lower case; `null`: assigned again. */
  readonly constants = new Map<string, WindowsWord | null>([
    ['true', windowsTextWord('True', [0, 0])],
    ['false', windowsTextWord('False', [0, 0])],
    ['env:comspec', windowsTextWord('cmd.exe', [0, 0])],
    ['env:windir', windowsTextWord('C:\\Windows', [0, 0])],
    ['env:systemroot', windowsTextWord('C:\\Windows', [0, 0])],
  ]);

  /** At an opening bracket: the commands inside, which are stored as well. */
  protected abstract group(shown: boolean): readonly WindowsCommand[];

  /** Length of an opening bracket that is nested too deeply to be followed, else 0. */
  protected tooDeep(): number {
    if (this.depth < windowsGroupDepthMax) return 0;
    return this.peek(/[$@][({]|[([{]/y)?.[0].length ?? 0;
  }

  /** Whether the command ends here. */
  protected ends(): boolean {
    const { here } = this;
    return here === '' || isNewline(here) || ';|)}&'.includes(here) || this.tooDeep() > 0;
  }

  protected redirect(): boolean {
    const from = this.at;
    const found = this.take(/[0-9*]?(?:>>|>|<)(?:&[0-9])?/y);
    if (found === null) return false;
    if (!found[0].includes('&')) {
      this.blanks(false);
      if (!this.ends()) this.word();
    }
    this.problem('redirect', from);
    return true;
  }

  /** What follows `--%`: passed on verbatim, to the end of the line or the next pipe. */
  protected verbatim(): WindowsWord[] {
    this.problem('verbatim');
    this.at += 3;
    const from = this.at;
    const [rest] = this.take(/[^\r\n|]*/y) ?? [''];
    return Array.from(rest.matchAll(/(?:"[^"]*"?|[^\s"])+/g), ({ 0: part, index }) => {
      const made = new WindowsWordBuilder();
      made.quoted = part.startsWith('"');
      made.add(part.replaceAll('"', ''));
      return made.word([from + index, from + index + part.length]);
    });
  }

  /** One argument: quoted and bare parts side by side. */
  protected word(): WindowsWord {
    const from = this.at;
    const made = new WindowsWordBuilder();
    if (this.peek(/@?[({]/y) !== null) return this.#bracket(made, from);
    if (this.peek(/@[\w?]/y) !== null) {
      this.at += 1;
      made.gap();
    }
    while (!this.late() && !this.ends() && !isBlank(this.here) && !'({,<>'.includes(this.here)) {
      if (!this.part(made, from)) {
        made.add(this.here);
        this.at += 1;
      }
    }
    return made.word([from, this.at]);
  }

  /** A quoted text, an escape or a variable. */
  protected part(made: WindowsWordBuilder, from: number): boolean {
    const { here } = this;
    if (here === '@' && isQuote(this.next()) && this.at === from) return this.#hereString(made);
    if (isQuote(here)) {
      made.quoted ||= this.at === from;
      if (isSingleQuote(here)) {
        this.#single(made);
      } else {
        this.at += 1;
        this.#double(made, '');
      }
    } else if (here === '`') {
      // Windows PowerShell has no escape `e, and a bare word has no use for one.
      made.add(this.next() === 'e' ? 'e' : unescaped(this.next()));
      this.at += 2;
      this.problem('escape', this.at - 2);
    } else if (here === '$') {
      this.variable(made, true);
    } else {
      return false;
    }
    return true;
  }

  #bracket(made: WindowsWordBuilder, from: number): WindowsWord {
    const block = this.peek(/@?\{/y) !== null;
    if (this.here === '@') this.at += 1;
    const inner = this.group(block);
    made.quoted = joinGroup(made, block ? [] : inner);
    if (!block) made.group.push(...inner);
    return made.word([from, this.at]);
  }

  #single(made: WindowsWordBuilder): void {
    const from = this.at;
    const text = this.take(/['‘’‚‛]((?:[^'‘’‚‛]|['‘’‚‛]{2})*)(['‘’‚‛]?)/y);
    made.add((text?.[1] ?? '').replaceAll(/(['‘’‚‛])['‘’‚‛]/g, '$1'));
    if (text?.[2] === '') this.problem('unparseable', from);
  }

  /** Inside double quotes; `end` closes a here-string, else the next quote does. */
  #double(made: WindowsWordBuilder, end: string): void {
    const from = this.at;
    for (;;) {
      const { here } = this;
      if (here === '') return this.problem('unparseable', from);
      if (end !== '' && this.starts(end)) {
        this.at += end.length;
        return;
      }
      if (here === '`') {
        made.add(unescaped(this.next()));
        this.at += 2;
      } else if (here === '$') {
        this.variable(made, false);
      } else {
        this.at += 1;
        if (end === '' && isDoubleQuote(here)) {
          if (!isDoubleQuote(this.here)) return;
          this.at += 1;
        }
        made.add(here);
      }
    }
  }

  #hereString(made: WindowsWordBuilder): boolean {
    const isLiteral = isSingleQuote(this.next());
    if (this.take(/@['"‘’‚‛“”„][^\S\n]*\n/y) === null) return false;
    made.quoted = true;
    if (!isLiteral) {
      this.#double(made, '\n"@');
      return true;
    }
    const close = this.text.indexOf("\n'@", this.at - 1);
    if (close === -1) this.problem('unparseable');
    made.add(this.text.slice(this.at, close === -1 ? undefined : Math.max(this.at, close)));
    this.at = close === -1 ? this.text.length : close + 3;
    return true;
  }

  /** `$x`, `${x y}`, `$env:X`, `$( … )`; `members`: also `.Length` and `[0]` behind it. */
  protected variable(made: WindowsWordBuilder, members: boolean): void {
    if (this.next() === '(') {
      this.at += 1;
      const inner = this.group(false);
      made.group.push(...inner);
      joinGroup(made, inner);
      return;
    }
    const found = this.take(/\$(?:\{([^}]{1,256})\}|((?:\w+:)?\w+|[$?^]))/y);
    if (found === null) {
      made.add('$');
      this.at += 1;
      return;
    }
    const name = found[1] ?? found[2] ?? '';
    const scoped = name
      .toLowerCase()
      .replace(/^(?:global|script|local|private|using|variable):/, '');
    if (scoped.startsWith('env:')) made.variables.push(name.slice(4));
    const known = this.constants.get(scoped);
    const tail = members && /[.[]/.test(this.here);
    if (known != null && !tail) made.join(known);
    else made.gap();
    if (members) this.#members(made);
  }

  #members(made: WindowsWordBuilder): void {
    for (;;) {
      const member = this.take(/(?:\??\.|::)\w+/y);
      if (member === null && this.here !== '[') return;
      if (member === null) this.group(false);
      else if (/^\.(?:length|count)$/i.test(member[0])) made.variables.length = 0;
    }
  }

  /** Blanks, comments and continued lines; `lines`: also ends of lines. */
  protected blanks(lines: boolean): void {
    for (;;) {
      if (isBlank(this.here) || (lines && isNewline(this.here))) {
        this.at += 1;
      } else if (this.take(/<#/y) !== null) {
        const end = this.text.indexOf('#>', this.at);
        if (end === -1) this.problem('unparseable');
        this.at = end === -1 ? this.text.length : end + 2;
        this.problem('comment');
      } else if (this.take(/#[^\r\n]*/y) !== null) {
        this.problem('comment');
      } else if (this.take(/`\r?\n/y) === null) {
        return;
      }
    }
  }
}

/** Appends the one value that a group consists of, else a gap; whether there was one. */
export function joinGroup(made: WindowsWordBuilder, inner: readonly WindowsCommand[]): boolean {
  const [only] = inner;
  const word = inner.length === 1 && only?.kind === 'value' ? only.words[0] : undefined;
  if (word !== undefined && only?.words.length === 1) {
    made.join(word);
    return true;
  }
  made.gap();
  // Several values keep their variables, and hide their text if one of them does.
  const words = only?.kind === 'value' ? inner.flatMap((command) => command.words) : [];
  made.variables.push(...words.flatMap(({ variables }) => variables));
  made.isComputed ||= words.some(({ isComputed }) => isComputed);
  return false;
}
