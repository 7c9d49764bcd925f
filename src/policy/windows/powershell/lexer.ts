/** The words of PowerShell: quotes, escapes, variables, here-strings, redirects, blanks. */
import type { WindowsCommand, WindowsSyntaxProblem, WindowsWord } from '../words.ts';
import { windowsGroupDepthMax, WindowsWordBuilder, windowsTextWord } from '../words.ts';
import {
  decodeBacktickEscape,
  isBlank,
  isDoubleQuote,
  isNewline,
  isSingleQuote,
} from './characters.ts';

const stepsBetween = 64;

/** A place in the text, and what is read from there word by word. */
export abstract class PowerShellLexer {
  readonly problems: WindowsSyntaxProblem[] = [];
  /** Variables with one constant value, by name in lower case; `null`: assigned again. */
  readonly constants = new Map<string, WindowsWord | null>([
    ['true', windowsTextWord('True', [0, 0])],
    ['false', windowsTextWord('False', [0, 0])],
    ['env:comspec', windowsTextWord('cmd.exe', [0, 0])],
    ['env:windir', windowsTextWord('C:\\Windows', [0, 0])],
    ['env:systemroot', windowsTextWord('C:\\Windows', [0, 0])],
  ]);
  protected readonly text: string;
  protected at = 0;
  /** How many brackets are open here. */
  protected depth = 0;
  readonly #deadline: number;
  #steps = 0;

  /** `deadline` is the `performance.now()` after which the rest is left unread. */
  constructor(text: string, deadline: number) {
    this.text = text;
    this.#deadline = deadline;
  }

  /** Whether time is up; then nothing is left to be read. */
  protected late(): boolean {
    this.#steps += 1;
    if (this.#steps % stepsBetween !== 0 || performance.now() < this.#deadline) return false;
    if (this.at < this.text.length) this.problem('limit.time', this.at);
    this.at = this.text.length;
    return true;
  }

  /** Length of an opening bracket that is one too deep to be followed, else 0. */
  protected tooDeep(): number {
    if (this.depth < windowsGroupDepthMax) return 0;
    return /^(?:[$@][({]|[([{])/.exec(this.text.slice(this.at, this.at + 2))?.[0].length ?? 0;
  }

  /** At an opening bracket: the commands inside, which are kept as well. */
  protected abstract group(shown: boolean): readonly WindowsCommand[];

  /** Told once each: the first place is enough. */
  protected problem(code: string, from: number): void {
    if (this.problems.every((known) => known.code !== code)) {
      this.problems.push({ code, span: [from, Math.max(from, this.at)] });
    }
  }

  protected get here(): string {
    return this.text[this.at] ?? '';
  }

  protected starts(text: string): boolean {
    return this.text.startsWith(text, this.at);
  }

  protected next(): string {
    return this.text[this.at + 1] ?? '';
  }

  protected bareword(): string {
    const word = /^[A-Za-z_][\w]{0,63}/.exec(this.text.slice(this.at, this.at + 64));
    return word?.[0] ?? '';
  }

  /** Whether the command ends here. */
  protected ends(): boolean {
    const here = this.here;
    return here === '' || isNewline(here) || ';|)}&'.includes(here) || this.tooDeep() > 0;
  }

  protected redirect(): boolean {
    const found = /^(?:[0-9*])?(?:>>|>|<)(?:&[0-9])?/.exec(this.text.slice(this.at, this.at + 5));
    if (found === null) return false;
    const from = this.at;
    this.at += found[0].length;
    if (!found[0].includes('&')) {
      this.blanks(false);
      if (!this.ends()) this.word();
    }
    this.problem('redirect', from);
    return true;
  }

  /** What follows `--%`: handed over as it stands, to the end of the line or the next pipe. */
  protected verbatim(): WindowsWord[] {
    this.problem('verbatim', this.at);
    this.at += 3;
    const words: WindowsWord[] = [];
    const part = /^[^\r\n|]*/.exec(this.text.slice(this.at))?.[0] ?? '';
    for (const found of part.matchAll(/(?:"[^"]*"?|[^\s"])+/g)) {
      const from = this.at + found.index;
      const made = new WindowsWordBuilder();
      made.quoted = found[0].startsWith('"');
      made.add(found[0].replaceAll('"', ''));
      words.push(made.word([from, from + found[0].length]));
    }
    this.at += part.length;
    return words;
  }

  /** One argument: quoted and bare parts side by side. */
  protected word(): WindowsWord {
    const from = this.at;
    const made = new WindowsWordBuilder();
    if (this.here === '(' || this.here === '{' || this.starts('@(') || this.starts('@{')) {
      return this.bracket(made, from);
    }
    if (this.starts('@') && /[\w?]/.test(this.next())) {
      this.at += 1;
      made.gap();
    }
    while (!this.late() && !this.ends() && !isBlank(this.here) && !'({,'.includes(this.here)) {
      if ('<>'.includes(this.here)) break;
      if (!this.part(made, from)) {
        made.add(this.here);
        this.at += 1;
      }
    }
    return made.word([from, this.at]);
  }

  /** A quoted text, an escape or a variable. */
  protected part(made: WindowsWordBuilder, from: number): boolean {
    const here = this.here;
    if (
      here === '@' &&
      (isSingleQuote(this.next()) || isDoubleQuote(this.next())) &&
      this.at === from
    ) {
      return this.hereString(made);
    }
    if (isSingleQuote(here)) {
      made.quoted ||= this.at === from;
      this.single(made);
      return true;
    }
    if (isDoubleQuote(here)) {
      made.quoted ||= this.at === from;
      this.at += 1;
      this.double(made, '');
      return true;
    }
    if (here === '`') {
      // Windows PowerShell knows no escape for `e, and a bare word has no use for one.
      made.add(this.next() === 'e' ? 'e' : decodeBacktickEscape(this.next()));
      this.at += 2;
      this.problem('escape', this.at - 2);
      return true;
    }
    if (here === '$') {
      this.variable(made, true);
      return true;
    }
    return false;
  }

  private bracket(made: WindowsWordBuilder, from: number): WindowsWord {
    const block = this.here === '{' || this.starts('@{');
    if (this.here === '@') this.at += 1;
    const inner = this.group(block);
    const value = inner.length === 1 && !block ? inner[0] : undefined;
    if (value?.kind === 'value' && value.words.length === 1) {
      for (const word of value.words) made.join(word);
      made.quoted = true;
    } else {
      made.gap();
    }
    if (!block) made.group.push(...inner);
    return made.word([from, this.at]);
  }

  private single(made: WindowsWordBuilder): void {
    const from = this.at;
    this.at += 1;
    for (;;) {
      const here = this.here;
      if (here === '') return this.problem('unparseable', from);
      this.at += 1;
      if (isSingleQuote(here)) {
        if (!isSingleQuote(this.here)) return;
        this.at += 1;
      }
      made.add(here);
    }
  }

  /** Inside double quotes; `end` closes a here-string, else the next quote does. */
  private double(made: WindowsWordBuilder, end: string): void {
    const from = this.at;
    for (;;) {
      const here = this.here;
      if (here === '') return this.problem('unparseable', from);
      if (end !== '' && this.starts(end)) {
        this.at += end.length;
        return;
      }
      if (here === '`') {
        made.add(decodeBacktickEscape(this.next()));
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

  private hereString(made: WindowsWordBuilder): boolean {
    const quote = this.next();
    const head = /^@['"‘’‚‛“”„][^\S\n]*\n/.exec(this.text.slice(this.at, this.at + 64));
    if (head === null) return false;
    this.at += head[0].length;
    made.quoted = true;
    const end = `\n${isSingleQuote(quote) ? "'" : '"'}@`;
    if (isDoubleQuote(quote)) {
      this.double(made, end);
      return true;
    }
    const close = this.text.indexOf(end, this.at - 1);
    if (close === -1) this.problem('unparseable', this.at);
    made.add(this.text.slice(this.at, close === -1 ? undefined : Math.max(this.at, close)));
    this.at = close === -1 ? this.text.length : close + end.length;
    return true;
  }

  /** `$x`, `${x y}`, `$env:X`, `$( … )`; `members`: also `.Length` and `[0]` behind it. */
  protected variable(made: WindowsWordBuilder, members: boolean): void {
    if (this.next() === '(') {
      this.at += 1;
      const inner = this.group(false);
      const [only] = inner;
      made.group.push(...inner);
      for (const word of inner.flatMap(({ words }) => words)) {
        made.variables.push(...(only?.kind === 'value' ? word.variables : []));
      }
      const value = inner.length === 1 && only?.kind === 'value' ? only.words[0] : undefined;
      if (value?.value === null || value === undefined) made.gap();
      else made.add(value.value);
      return;
    }
    const found = /^\$(?:\{([^}]{1,256})\}|((?:\w+:)?\w+|[$?^]))/.exec(
      this.text.slice(this.at, this.at + 300),
    );
    if (found === null) {
      made.add('$');
      this.at += 1;
      return;
    }
    this.at += found[0].length;
    const name = (found[1] ?? found[2] ?? '').toLowerCase();
    const scoped = name.replace(/^(?:global|script|local|private|using|variable):/, '');
    if (scoped.startsWith('env:')) {
      made.variables.push((found[1] ?? found[2] ?? '').slice(4));
    }
    const known = this.constants.get(scoped);
    const tail = members && /[.[]/.test(this.here);
    if (known !== undefined && known !== null && !tail) made.join(known);
    else made.gap();
    if (members) this.members(made);
  }

  private members(made: WindowsWordBuilder): void {
    for (;;) {
      const member = /^(?:\??\.|::)\w+/.exec(this.text.slice(this.at, this.at + 80));
      if (member !== null) {
        this.at += member[0].length;
        if (/^\.(?:length|count)$/i.test(member[0])) made.variables.length = 0;
      } else if (this.here === '[') {
        this.group(false);
      } else {
        return;
      }
    }
  }

  /** Blanks, comments and continued lines; `lines`: also ends of lines. */
  protected blanks(lines: boolean): void {
    for (;;) {
      const here = this.here;
      if (isBlank(here) || (lines && isNewline(here))) {
        this.at += 1;
      } else if (here === '`' && /^`\r?\n/.test(this.text.slice(this.at, this.at + 3))) {
        this.at += this.starts('`\r') ? 3 : 2;
      } else if (this.starts('<#')) {
        const end = this.text.indexOf('#>', this.at);
        if (end === -1) this.problem('unparseable', this.at);
        this.at = end === -1 ? this.text.length : end + 2;
        this.problem('comment', this.at);
      } else if (here === '#') {
        while (this.here !== '' && !isNewline(this.here)) this.at += 1;
        this.problem('comment', this.at);
      } else {
        return;
      }
    }
  }
}
