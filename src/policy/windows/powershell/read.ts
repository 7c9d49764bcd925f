/** Reads PowerShell into commands: one pass, no command known by name. */
import type { SourceSpan } from '../../analysis.ts';
import {
  windowsCommandWordsMax,
  windowsGroupDepthMax,
  WindowsWordBuilder,
  type DotNetCall,
  type WindowsCommand,
  type WindowsScript,
  type WindowsWord,
} from '../words.ts';
import { isNewline, isQuote, joinGroup, PowerShellLexer } from './words.ts';

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
const valueLengthMax = 4_096;

export function readPowerShell(text: string, deadline: number): WindowsScript {
  return new Reader(text, deadline).script();
}

class Reader extends PowerShellLexer {
  /** How many pipelines are open, each inside the one before. */
  #pipelines = 0;

  script(): WindowsScript {
    while (this.at < this.text.length) {
      this.#statements('', true);
      // An extra closing bracket: what follows is read all the same.
      if (this.at < this.text.length) {
        this.problem('unparseable');
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
      if (this.here === '') {
        if (close !== '') this.problem('unparseable');
        return found;
      }
      const bracket = this.tooDeep();
      if (bracket > 0) {
        // It only ends the statement before it: what is inside is read all the same.
        this.problem('limit.nesting');
        this.at += bracket;
        continue;
      }
      if (this.here === close) {
        this.at += 1;
        return found;
      }
      if (')}]'.includes(this.here)) {
        if (close === '') return found;
        this.problem('unparseable');
        this.at += 1;
        continue;
      }
      if (this.peek(/[;,|]|&(?![^&])/y) !== null) {
        if (this.depth === 0) this.problem('several');
        this.at += 1;
        continue;
      }
      count += 1;
      if (count > 1 && this.depth === 0) this.problem('several');
      const before = this.at;
      for (const command of this.#pipeline(shown, close === '}')) found.push(command);
      if (this.at === before) this.at += 1;
    }
  }

  /** One pipeline; returns its last commands, all are stored. `entries`: of a hash table. */
  #pipeline(shown: boolean, entries = false): readonly WindowsCommand[] {
    if (this.#pipelines >= pipelinesMax) {
      this.problem('limit.nesting');
      return [];
    }
    this.#pipelines += 1;
    let last: readonly WindowsCommand[] = [];
    do {
      this.blanks(true);
      last = this.#element(last, shown, entries);
      this.blanks(false);
    } while (this.#isPiped());
    this.#pipelines -= 1;
    return last;
  }

  #isPiped(): boolean {
    if (this.take(/\|(?!\|)/y) === null) return false;
    this.problem('several', this.at - 1);
    return true;
  }

  #element(
    input: readonly WindowsCommand[],
    shown: boolean,
    entries: boolean,
  ): readonly WindowsCommand[] {
    const keyword = this.peek(/[A-Za-z_]\w{0,63}(?![-.\\:/\w])/y)?.[0].toLowerCase() ?? '';
    if (leading.has(keyword) || heads.has(keyword)) {
      this.problem('compound');
      this.at += keyword.length;
      this.blanks(leading.has(keyword));
      if (leading.has(keyword)) return ')}'.includes(this.here) ? [] : this.#pipeline(shown);
      if (/^(?:function|filter|workflow|class|enum)$/.test(keyword)) this.take(/[A-Za-z_]\w*/y);
      return this.#value(input, false);
    }
    if (entries && this.take(/[A-Za-z_]\w*[ \t]*=(?!=)/y) !== null) {
      this.blanks(true);
      return this.#pipeline(false);
    }
    if (this.take(/&|\.(?=[\s'"($&{])/y) !== null) {
      this.problem('call', this.at - 1);
      this.blanks(false);
      return this.#command(input, shown);
    }
    return this.#isValue() ? this.#value(input, shown) : this.#command(input, shown);
  }

  #isValue(): boolean {
    if (isQuote(this.here) || this.peek(/[$([{!,+-]|@[('"{$]/y) !== null) return true;
    return this.peek(/[\d.]*\d(?:[kmgtp]b)?(?:[\s;|)},\]+*/%-]|$)/iy) !== null;
  }

  #command(input: readonly WindowsCommand[], shown: boolean): readonly WindowsCommand[] {
    const from = this.at;
    const words: WindowsWord[] = [];
    for (;;) {
      this.blanks(false);
      if (this.late() || this.ends()) break;
      if (this.redirect()) continue;
      if (this.here === ',') {
        this.problem('list');
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
    const span = [from, words.at(-1)?.span[1] ?? from] as const;
    return this.keep({ kind: 'command', span, words, input, shown, calls: [] });
  }

  protected override group(shown: boolean): readonly WindowsCommand[] {
    const close = this.here === '{' ? '}' : this.here === '[' ? ']' : ')';
    this.at += 1;
    // In a text: read on as if the bracket were not there, so that nothing after it is lost.
    if (this.depth >= windowsGroupDepthMax) {
      this.problem('limit.nesting');
      return [];
    }
    this.depth += 1;
    const inner = this.#statements(close, shown);
    this.depth -= 1;
    return inner;
  }

  /** An expression: its text if constant, the .NET calls in it, what it assigns. */
  #value(input: readonly WindowsCommand[], shown: boolean): readonly WindowsCommand[] {
    const from = this.at;
    const value = new ValueBuilder();
    let tokens = 0;
    for (;;) {
      this.blanks(false);
      const { here } = this;
      const ends = here === '' || isNewline(here) || ';|)}]&'.includes(here);
      if (ends || this.tooDeep() > 0 || this.late()) break;
      const start = this.at;
      if (this.#assignment(value)) return [];
      if (this.take(/in(?=\s)/iy) !== null) {
        this.#pipeline(false);
        continue;
      }
      // After the limit a token is read only for the commands in it.
      tokens += 1;
      if (tokens > windowsCommandWordsMax) this.problem('limit.words', start);
      this.#token(tokens > windowsCommandWordsMax ? new ValueBuilder() : value, start);
      if (this.at === start) this.at += 1;
    }
    const span: SourceSpan = [from, this.at];
    const words = value.words(span);
    const { calls, isVisible } = value;
    return this.keep({ kind: 'value', span, words, input, calls, shown: shown && isVisible });
  }

  #assignment(value: ValueBuilder): boolean {
    const from = this.at;
    const sign = this.take(/(?:[-+*/%]|\?\?)?=(?!=)/y);
    if (sign === null) return false;
    this.problem('assignment', from);
    this.blanks(true);
    const { target } = value;
    const last = this.#pipeline(false);
    const word = last.length === 1 && last[0]?.kind === 'value' ? last[0].words[0] : undefined;
    if (target !== null) {
      const isFirst = sign[0] === '=' && !this.constants.has(target);
      const known = isFirst && word !== undefined && (word.value !== null || word.isComputed);
      this.constants.set(target, known ? word : null);
    }
    return true;
  }

  #token(value: ValueBuilder, start: number): void {
    const { here } = this;
    const made = new WindowsWordBuilder();
    if (this.peek(/@?[({]/y) !== null) {
      if (here === '@') this.at += 1;
      const block = this.here === '{';
      value.group(this.group(block), block);
      return;
    }
    if (here === '[') {
      const type = this.take(/\[\s*([\w.]+(?:\[\])?)\s*\]/y);
      if (type === null) value.group(this.group(false), false);
      else value.type(type[1] ?? '');
      return;
    }
    if (here === '$') {
      const name = this.peek(/\$(?:\{([^}]+)\}|((?:\w+:)?\w+))/y);
      this.variable(made, false);
      value.word(made.word([start, this.at]), name?.[1] ?? name?.[2] ?? '');
      return;
    }
    if ((isQuote(here) || here === '@') && this.part(made, start)) {
      value.word(made.word([start, this.at]), null);
      return;
    }
    const other = this.take(/::\w*|\??\.\w+|[-–—―][A-Za-z]\w*|\w+|\S/y);
    if (other === null) this.at += 1;
    value.symbol(other?.[0].toLowerCase() ?? '');
  }
}

/** Operators that make a text of constants that the words do not show. */
const computing = /^(?:-f|-join|\.replace)$/;
const visible = /^(?:\+|,|::\w+|\??\.(?!length$|count$)\w+|-join|-f|-replace|-split)$/;

interface ValuePart {
  readonly made: WindowsWordBuilder;
  /** The only token so far, if it is a word. */
  only: WindowsWord | null;
  tokens: number;
  hasOperator: boolean;
  isConstant: boolean;
}

const newPart = (): ValuePart => {
  const made = new WindowsWordBuilder();
  return { made, only: null, tokens: 0, hasOperator: false, isConstant: true };
};

/**
 * Collects the tokens of one expression. Only `+` is evaluated: what other operators make of
 * constants alone hides a text, and is marked as such.
 */
class ValueBuilder {
  readonly calls: DotNetCall[] = [];
  /** Whether the value itself is written out: variables and texts, joined at most. */
  isVisible = true;
  /** The variable that an `=` after the tokens assigns, in lower case; `null`: something else. */
  target: string | null = null;
  #parts: ValuePart[] = [newPart()];
  #types = 0;
  #tokens = 0;
  /** `-f` and `-join` take all of a list: the comma binds closer than they do. */
  #bindsList = false;
  /** The type that the last token is, and the member: a group after it makes a call. */
  #type = '';
  #member: string | null = null;

  word(word: WindowsWord, variable: string | null): void {
    this.#count(word, variable).join(word);
    if (isUnknown(word)) this.#part.isConstant = false;
  }

  type(name: string): void {
    const { target } = this;
    this.#types += 1;
    const made = this.#count(null, null);
    this.target = target;
    this.#type = name.toLowerCase().replace(/^system\./, '');
    if (this.#type.startsWith('char')) this.#part.hasOperator = true;
    if (this.#type !== 'string') made.gap();
  }

  symbol(text: string): void {
    const owner = this.#type;
    this.isVisible &&= visible.test(text);
    this.#bindsList ||= text === '-f' || text === '-join';
    if (text === ',') this.#parts.push(newPart());
    const made = this.#count(null, null);
    if (text === ',') this.#part.tokens = 0;
    else if (/^\d+$/.test(text)) made.add(text);
    else if (text !== '+') made.gap();
    if (computing.test(text)) this.#part.hasOperator = true;
    if (/^(?:::|\??\.)\w/.test(text)) this.#member = `${owner}${text.replace(/^\??\./, '.')}`;
  }

  group(inner: readonly WindowsCommand[], block: boolean): void {
    const words = inner.flatMap((command) => command.words);
    if (this.#member !== null) this.calls.push({ name: this.#member, args: words });
    this.isVisible &&= !block && inner.every(({ kind }) => kind === 'value');
    const made = this.#count(null, null);
    if (inner.some(({ kind }) => kind === 'command') || words.some(isUnknown)) {
      this.#part.isConstant = false;
    }
    joinGroup(made, block ? [] : inner);
    if (this.#part.tokens === 1) made.group.push(...inner);
  }

  /** One word for the tokens between two commas. */
  words(span: SourceSpan): readonly WindowsWord[] {
    if (this.#tokens === 0) return [];
    const words = this.#parts.map((part) => wordOf(part, span));
    if (!this.#bindsList) return words;
    const all = newPart();
    for (const word of words) all.made.join(word);
    all.hasOperator = true;
    all.isConstant = this.#parts.every(({ isConstant }) => isConstant);
    return [wordOf(all, span)];
  }

  get #part(): ValuePart {
    return this.#parts.at(-1) ?? newPart();
  }

  /** Notes that one more token is in the last part. */
  #count(only: WindowsWord | null, variable: string | null): WindowsWordBuilder {
    const part = this.#part;
    part.tokens += 1;
    part.only = part.tokens === 1 ? only : null;
    this.#tokens += 1;
    const scoped = variable?.toLowerCase().replace(/^(?:global|script|local|private):/, '');
    this.target = this.#tokens - this.#types === 1 ? (scoped ?? null) : null;
    this.#type = '';
    this.#member = null;
    return part.made;
  }
}

function wordOf({ only, made, hasOperator, isConstant }: ValuePart, span: SourceSpan): WindowsWord {
  if (only?.value === null) return only;
  made.quoted = true;
  made.isComputed ||= hasOperator && isConstant;
  const word = made.word(span);
  if (word.value === null || word.value.length <= valueLengthMax) return word;
  const value = word.value.slice(0, valueLengthMax);
  return { ...word, value, pieces: [value] };
}

const isUnknown = ({ value, isComputed }: WindowsWord): boolean => value === null && !isComputed;
