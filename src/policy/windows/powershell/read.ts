/** Reads PowerShell into commands: one pass, no command known by name. */
import type { SourceSpan } from '../../analysis.ts';
import {
  windowsCommandsMax,
  windowsGroupDepthMax,
  WindowsWordBuilder,
  windowsCommandWordsMax,
} from '../words.ts';
import type { DotNetCall, WindowsCommand, WindowsScript, WindowsWord } from '../words.ts';
import { PowerShellExpression } from './expression.ts';
import { PowerShellLexer } from './lexer.ts';
import { isDoubleQuote, isNewline, isSingleQuote } from './characters.ts';

/** After these a statement follows at once. */
const leading = new Set(
  'return throw exit else do try finally begin process end dynamicparam clean default'.split(' '),
);
/** These have a head of their own in parentheses or words, then blocks. */
const heads = new Set(
  'if elseif while for foreach until switch catch trap function filter workflow param class'
    .concat(' data using enum break continue')
    .split(' '),
);

const pipelinesMax = 4 * windowsGroupDepthMax;

export function readPowerShell(text: string, deadline: number): WindowsScript {
  return new Reader(text, deadline).script();
}

class Reader extends PowerShellLexer {
  readonly commands: WindowsCommand[] = [];
  /** How many pipelines are under way, each inside the one before. */
  #pipelines = 0;

  script(): WindowsScript {
    while (this.at < this.text.length) {
      this.#statements('', true);
      // A closing bracket too many: what follows is read all the same.
      if (this.at < this.text.length) {
        this.problem('unparseable', this.at);
        this.at += 1;
      }
    }
    return { commands: this.commands, problems: this.problems };
  }

  /** Up to and with the closing bracket, or to the end. */
  #statements(close: string, shown: boolean): WindowsCommand[] {
    const found: WindowsCommand[] = [];
    let count = 0;
    for (;;) {
      this.blanks(true);
      if (this.at >= this.text.length) {
        if (close !== '') this.problem('unparseable', this.at);
        return found;
      }
      const bracket = this.tooDeep();
      if (bracket > 0) {
        // It only ends the statement before it: what stands inside is read all the same.
        this.problem('limit.nesting', this.at);
        this.at += bracket;
        continue;
      }
      if (this.here === close) {
        this.at += 1;
        return found;
      }
      if (')}]'.includes(this.here)) {
        if (this.depth <= windowsGroupDepthMax && close !== '') {
          this.problem('unparseable', this.at);
        }
        if (close === '') return found;
        this.at += 1;
        continue;
      }
      if (/[;,|&]/.test(this.here) && !/^&[^&]/.test(this.text.slice(this.at, this.at + 2))) {
        if (this.depth === 0) this.problem('several', this.at);
        this.at += 1;
        continue;
      }
      count += 1;
      if (count > 1 && this.depth === 0) this.problem('several', this.at);
      const before = this.at;
      for (const command of this.#pipeline(shown, close === '}')) found.push(command);
      if (this.at === before) this.at += 1;
    }
  }

  /** One pipeline; its last commands are given, all are kept. */
  #pipeline(shown: boolean, entries = false): readonly WindowsCommand[] {
    if (this.#pipelines >= pipelinesMax) {
      this.problem('limit.nesting', this.at);
      return [];
    }
    this.#pipelines += 1;
    const last = this.#elements(shown, entries);
    this.#pipelines -= 1;
    return last;
  }

  #elements(shown: boolean, entries: boolean): readonly WindowsCommand[] {
    let input: readonly WindowsCommand[] = [];
    for (;;) {
      this.blanks(false);
      const last = this.#element(input, shown, entries);
      this.blanks(false);
      if (this.here !== '|' || this.starts('||')) return last;
      this.problem('several', this.at);
      this.at += 1;
      this.blanks(true);
      input = last;
    }
  }

  #element(
    input: readonly WindowsCommand[],
    shown: boolean,
    entries: boolean,
  ): readonly WindowsCommand[] {
    const head = this.bareword();
    const lower = head.toLowerCase();
    const after = this.text[this.at + head.length] ?? '';
    if (head !== '' && (leading.has(lower) || heads.has(lower)) && !/[-.\\:/]/.test(after)) {
      this.problem('compound', this.at);
      this.at += head.length;
      this.blanks(leading.has(lower));
      if (leading.has(lower)) {
        return ')}'.includes(this.here) ? [] : this.#pipeline(shown);
      }
      if (['function', 'filter', 'workflow', 'class', 'enum'].includes(lower)) {
        this.at += this.bareword().length;
      }
      return this.#expression(input, false);
    }
    if (entries && head !== '') {
      const sign = /^[ \t]*=/.exec(this.text.slice(this.at + head.length, this.at + 200));
      if (sign !== null && this.text[this.at + head.length + sign[0].length] !== '=') {
        this.at += head.length + sign[0].length;
        this.blanks(true);
        return this.#pipeline(false);
      }
    }
    if (this.here === '&' || (this.here === '.' && /[\s'"($&{]/.test(this.next()))) {
      this.at += 1;
      this.problem('call', this.at - 1);
      this.blanks(false);
      return this.#command(input, shown);
    }
    return this.#isExpression() ? this.#expression(input, shown) : this.#command(input, shown);
  }

  #isExpression(): boolean {
    const here = this.here;
    if (isSingleQuote(here) || isDoubleQuote(here) || '$([{'.includes(here)) return true;
    if (here === '@' && /[('"{$]/.test(this.next())) return true;
    if (/[!,+-]/.test(here)) return true;
    return /^[\d.]*\d(?:[kmgtp]b)?(?:[\s;|)},\]+*/%]|-|$)/i.test(
      this.text.slice(this.at, this.at + 32),
    );
  }

  #command(input: readonly WindowsCommand[], shown: boolean): readonly WindowsCommand[] {
    const from = this.at;
    const words: WindowsWord[] = [];
    const calls: DotNetCall[] = [];
    let end = from;
    for (;;) {
      end = words.at(-1)?.span[1] ?? end;
      this.blanks(false);
      if (this.late() || this.ends()) break;
      if (this.redirect()) continue;
      if (this.here === ',') {
        this.problem('list', this.at);
        this.at += 1;
        this.blanks(true);
        continue;
      }
      if (this.starts('--%')) {
        words.push(...this.verbatim());
        break;
      }
      const before = this.at;
      const word = this.word();
      if (words.length < windowsCommandWordsMax) words.push(word);
      else this.problem('limit.words', before);
      if (this.at === before) this.at += 1;
    }
    end = words.at(-1)?.span[1] ?? end;
    return this.#keep({ kind: 'command', span: [from, end], words, input, shown, calls });
  }

  #keep(command: WindowsCommand): readonly WindowsCommand[] {
    if (this.commands.length >= windowsCommandsMax) {
      if (this.commands.length === windowsCommandsMax) this.problem('limit.commands', this.at);
      return [];
    }
    this.commands.push(command);
    return [command];
  }

  /** At an opening bracket: the commands inside, which are kept as well. */
  protected override group(shown: boolean): readonly WindowsCommand[] {
    const close = this.here === '{' ? '}' : this.here === '[' ? ']' : ')';
    this.at += 1;
    // In a text: read on as if the bracket were not there, so that nothing after it is lost.
    if (this.depth >= windowsGroupDepthMax) {
      this.problem('limit.nesting', this.at);
      return [];
    }
    this.depth += 1;
    const inner = this.#statements(close, shown);
    this.depth -= 1;
    return inner;
  }

  /** An expression: its constant value, the .NET calls in it, what it assigns. */
  #expression(input: readonly WindowsCommand[], shown: boolean): readonly WindowsCommand[] {
    const from = this.at;
    const evaluation = new PowerShellExpression();
    let tokens = 0;
    for (;;) {
      this.blanks(false);
      const here = this.here;
      const ends = here === '' || isNewline(here) || ';|)}]&'.includes(here);
      if (ends || this.tooDeep() > 0 || this.late()) break;
      const start = this.at;
      if (this.#assignment(evaluation)) return [];
      if (/^in\s/i.test(this.text.slice(this.at, this.at + 3))) {
        this.at += 2;
        this.#pipeline(false);
        continue;
      }
      // Past the bound a token is read for the commands in it alone.
      tokens += 1;
      if (tokens > windowsCommandWordsMax) this.problem('limit.words', start);
      this.#token(tokens > windowsCommandWordsMax ? new PowerShellExpression() : evaluation, start);
      if (this.at === start) this.at += 1;
    }
    const span: SourceSpan = [from, this.at];
    const { words, calls, visible } = evaluation.result(span);
    return this.#keep({ kind: 'value', span, words, input, calls, shown: shown && visible });
  }

  #assignment(evaluation: PowerShellExpression): boolean {
    const sign = /^(?:[-+*/%]|\?\?)?=(?!=)/.exec(this.text.slice(this.at, this.at + 4));
    if (sign === null) return false;
    this.problem('assignment', this.at);
    this.at += sign[0].length;
    this.blanks(true);
    const target = evaluation.target();
    const last = this.#pipeline(false);
    const [only] = last;
    const word = last.length === 1 && only?.kind === 'value' ? only.words[0] : undefined;
    if (target !== null) {
      const first = sign[0] === '=' && !this.constants.has(target);
      const known = first && word !== undefined && word.value !== null;
      this.constants.set(target, known ? word : null);
    }
    return true;
  }

  #token(evaluation: PowerShellExpression, start: number): void {
    const here = this.here;
    const made = new WindowsWordBuilder();
    if (here === '(' || here === '{' || this.starts('@(') || this.starts('@{')) {
      if (here === '@') this.at += 1;
      const block = this.here === '{';
      const inner = this.group(block);
      evaluation.group(inner, block, [start, this.at]);
      return;
    }
    if (here === '[') {
      const type = /^\[\s*([\w.]+(?:\[\])?)\s*\]/.exec(this.text.slice(this.at, this.at + 160));
      if (type !== null) {
        this.at += type[0].length;
        evaluation.type(type[1] ?? '', [start, this.at]);
        return;
      }
      evaluation.index(this.group(false));
      return;
    }
    if (here === '$') {
      const name = /^\$(?:\{([^}]+)\}|((?:\w+:)?\w+))/.exec(
        this.text.slice(this.at, this.at + 300),
      );
      this.variable(made, false);
      evaluation.variable(name?.[1] ?? name?.[2] ?? '', made.word([start, this.at]));
      return;
    }
    if (isSingleQuote(here) || isDoubleQuote(here) || here === '@') {
      if (this.part(made, start)) {
        evaluation.text(made.word([start, this.at]));
        return;
      }
    }
    const other = /^(?:::\w*|\??\.\w+|[-–—―][A-Za-z]\w*|\w+|[^\s])/.exec(
      this.text.slice(this.at, this.at + 160),
    );
    this.at += (other?.[0] ?? ' ').length;
    evaluation.symbol(other?.[0] ?? '', [start, this.at]);
  }
}
