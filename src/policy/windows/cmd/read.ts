/** Reads the text of cmd.exe, a line or a batch file, into commands. One pass. */
import {
  windowsCommandWordsMax,
  windowsGroupDepthMax,
  WindowsLexer,
  windowsTextWord,
  WindowsWordBuilder,
  type WindowsCommand,
  type WindowsScript,
  type WindowsWord,
} from '../words.ts';

/** Variables that every Windows has and that name programs. */
const fixed: ReadonlyMap<string, string> = new Map([
  ['comspec', 'C:\\Windows\\System32\\cmd.exe'],
  ['systemroot', 'C:\\Windows'],
  ['windir', 'C:\\Windows'],
]);

/** Commands of cmd itself: their name ends at `/`, `.`, `(` and the like, too. */
const builtins = new Set(
  (
    'assoc break call cd chdir cls color copy date del dir echo endlocal erase exit ' +
    'for ftype goto if md mkdir mklink move path pause popd prompt pushd rd rem ren ' +
    'rename rmdir set setlocal shift start time title type ver verify vol'
  ).split(' '),
);

export function readCmd(text: string, deadline: number): WindowsScript {
  return new Reader(text, deadline).script();
}

class Reader extends WindowsLexer {
  /** The last `< file`, as the command that would write it. */
  #stdin: WindowsCommand | null = null;
  readonly #constants = new Map<string, string | null>(fixed);
  /** Loops so far: their variables are `%i`. */
  #loops = 0;

  script(): WindowsScript {
    while (this.at < this.text.length) {
      this.#sequence();
      if (this.at < this.text.length) {
        this.problem('unparseable');
        this.at += 1;
      }
    }
    return { commands: this.commands, problems: this.problems };
  }

  /** Commands up to the `)` that closes a group, which is left, or to the end. */
  #sequence(): readonly WindowsCommand[] {
    const all: WindowsCommand[] = [];
    let input: readonly WindowsCommand[] = [];
    let count = 0;
    for (;;) {
      this.late();
      this.#skip(/[\s@,;=]/);
      if (this.here === '' || this.here === ')') return all;
      if (this.take(/[&|\n]/y) !== null) {
        this.problem('several');
        continue;
      }
      count += 1;
      if (count > 1) this.problem('several');
      const before = this.at;
      const found = this.#statement(input);
      all.push(...found);
      if (this.at === before) this.at += 1;
      this.#skip(/[ \t]/);
      input = this.peek(/\|(?!\|)/y) === null ? [] : found;
    }
  }

  /** Skips what `kind` matches, and lines that `^` continues. */
  #skip(kind: RegExp): void {
    while (kind.test(this.here) || this.#isContinued()) {
      if (this.take(/\^\r?\n/y) === null) this.at += 1;
    }
  }

  #isContinued(): boolean {
    return this.peek(/\^\r?\n/y) !== null;
  }

  #statement(input: readonly WindowsCommand[]): readonly WindowsCommand[] {
    this.#skip(/[ \t@,;=]/);
    if (this.here === '(') return this.#group();
    const head = this.peek(/[A-Za-z]{2,3}(?![\w.:\\-])/y)?.[0].toLowerCase();
    if (head === 'rem' || this.here === ':') {
      this.take(/[^\n]*/y);
      this.problem('comment');
      return [];
    }
    if (head === 'if') return this.#conditional();
    if (head === 'for') return this.#loop();
    return this.#command(input);
  }

  #group(): readonly WindowsCommand[] {
    const from = this.at;
    this.at += 1;
    this.problem('compound', from);
    if (this.depth >= windowsGroupDepthMax) {
      this.problem('limit.nesting');
      return [];
    }
    this.depth += 1;
    const inner = this.#sequence();
    this.depth -= 1;
    if (this.here === ')') this.at += 1;
    else this.problem('unparseable', from);
    while (this.#redirect()) this.#skip(/[ \t]/);
    this.#skip(/[ \t]/);
    return this.take(/else(?![\w.])/iy) === null ? inner : [...inner, ...this.#nested()];
  }

  /** A statement inside another one, within the bound of nesting. */
  #nested(): readonly WindowsCommand[] {
    if (this.depth >= windowsGroupDepthMax) {
      this.problem('limit.nesting');
      return [];
    }
    this.depth += 1;
    const inner = this.#statement([]);
    this.depth -= 1;
    return inner;
  }

  /** `if [/i] [not] exist X | defined X | errorlevel N | A == B | A op B`, then a command. */
  #conditional(): readonly WindowsCommand[] {
    this.at += 2;
    this.problem('compound');
    let next = this.#plainWord();
    while (/^(?:\/i|not)$/i.test(next)) next = this.#plainWord();
    if (/^(?:exist|defined|errorlevel|cmdextversion)$/i.test(next)) {
      this.#plainWord();
    } else if (!/[^=]==[^=]/.test(next)) {
      const sign = this.#plainWord();
      if (!/^==./.test(sign)) this.#plainWord();
    }
    return this.#nested();
  }

  /** `for [/f "options"] %i in (SET) do COMMAND`; a quoted set of `/f` is a command. */
  #loop(): readonly WindowsCommand[] {
    this.at += 3;
    this.#loops += 1;
    this.problem('compound');
    let options = '';
    for (let words = 0; words < 8; words += 1) {
      const word = this.#plainWord();
      if (word === '' || /^in$/i.test(word)) break;
      options += ` ${word}`;
    }
    this.#skip(/[ \t]/);
    if (this.here === '(') {
      if (/\s\/f/i.test(options)) this.#lines();
      const close = this.text.indexOf(')', this.at);
      this.at = close === -1 ? this.text.length : close + 1;
    }
    if (/^do$/i.test(this.#plainWord())) return this.#nested();
    this.problem('unparseable');
    return [];
  }

  /** The set of `for /f`: a quoted one is a command, else files whose lines are read. */
  #lines(): void {
    this.at += 1;
    this.#skip(/[ \t]/);
    const from = this.at + 1;
    const end = /['`]/.test(this.here) ? this.text.indexOf(this.here, from) : -1;
    if (end === -1) {
      const file = this.peek(/[^\s)"&|<>]{1,256}/y)?.[0];
      if (file === undefined) return;
      this.commands.push(typed(windowsTextWord(file, [this.at, this.at + file.length])));
      return;
    }
    const inner = new Reader(this.text.slice(0, end), this.deadline);
    inner.at = from;
    const { commands, problems } = inner.script();
    for (const command of commands) this.commands.push(command);
    for (const { code } of problems) this.problem(code, from);
    this.at = end + 1;
  }

  #plainWord(): string {
    this.#skip(/[ \t]/);
    return this.take(/(?:"[^"\n]*"|[^\s"()&|])+/y)?.[0] ?? '';
  }

  #command(input: readonly WindowsCommand[]): readonly WindowsCommand[] {
    const from = this.at;
    const words: WindowsWord[] = [];
    this.#stdin = null;
    for (;;) {
      this.#skip(/[ \t]/);
      if (this.late() || this.#ends()) break;
      if (this.#redirect()) continue;
      const before = this.at;
      const first = words.length === 0;
      const word = this.#word(first);
      if (words.length < windowsCommandWordsMax) words.push(word);
      else this.problem('limit.words', before);
      if (this.at === before) this.at += 1;
    }
    if (words.length === 0) return [];
    const span = [from, words.at(-1)?.span[1] ?? this.at] as const;
    const fed = this.#stdin === null ? input : [this.#stdin];
    const known = this.keep({ kind: 'command', span, words, input: fed, shown: true, calls: [] });
    for (const command of known) this.#assign(command);
    return known;
  }

  /** `set x=rd`: the value of `%x%` from here on. */
  #assign({ words }: WindowsCommand): void {
    if (words[0]?.value?.toLowerCase() !== 'set' || words.length < 2) return;
    const text = words
      .slice(1)
      .map(({ value }) => value ?? '\uFFFF')
      .join(' ');
    const found = /^([^=/]+)=(.*)$/s.exec(text);
    if (found === null) return;
    const name = (found[1] ?? '').toLowerCase();
    const value = found[2] ?? '';
    const known = !value.includes('\uFFFF') && !this.#constants.has(name);
    this.#constants.set(name, known ? value : null);
  }

  #ends(): boolean {
    const here = this.here;
    return here === '' || '\n&|'.includes(here) || (here === ')' && this.depth > 0);
  }

  #redirect(): boolean {
    const from = this.at;
    const found = this.take(/\d?(?:>>|>|<)(?:&\d)?/y);
    if (found === null) return false;
    if (!found[0].includes('&')) {
      this.#skip(/[ \t]/);
      const file = this.#ends() ? null : this.#word(false);
      if (file !== null && /^0?<$/.test(found[0])) this.#stdin = typed(file);
    }
    this.problem('redirect', from);
    return true;
  }

  #word(first: boolean): WindowsWord {
    const from = this.at;
    const made = new WindowsWordBuilder();
    const raw: string[] = [];
    let quoted = false;
    let name = '';
    const add = (text: string, shown: string): void => {
      made.add(text);
      raw.push(shown);
      name += text;
    };
    for (;;) {
      const here = this.here;
      const start = this.at;
      if (this.late() || here === '' || here === '\n' || here === '\r') break;
      if (here === '"' || (here === '\\' && this.text[this.at + 1] === '"')) {
        // A program reads \" as a quote of its own; cmd itself turns quoting on and off.
        if (this.at === from) made.quoted = here === '"';
        quoted = !quoted;
        this.at += here === '"' ? 1 : 2;
        if (here === '"') raw.push('"');
        else add('"', '\\"');
      } else if (!quoted && (/[ \t<>]/.test(here) || this.#ends())) {
        break;
      } else if (!quoted && here === '^') {
        this.problem('escape');
        if (this.take(/\^\r?\n/y) === null) this.at += 1;
        const escaped = this.here;
        if (escaped !== '' && !/[\r\n]/.test(escaped)) {
          add(escaped, escaped);
          this.at += 1;
        }
      } else if ((here === '%' || here === '!') && this.#variable(made)) {
        raw.push(this.text.slice(start, this.at));
        name = '\uFFFF';
      } else {
        if (first && !quoted && endsName(name, here)) break;
        add(here, here);
        this.at += 1;
      }
    }
    if (quoted) this.problem('unparseable', from);
    if (this.here === '\r') this.at += 1;
    made.raw = raw.join('');
    return made.word([from, this.at]);
  }

  /** `%X%`, `%X:~0,3%`, `!X!`, `%1`, `%%i`, `%~dp0`. */
  #variable(made: WindowsWordBuilder): boolean {
    const named = this.take(/%([A-Za-z_][^%:\s"]*)(:[^%\n]*)?%|!([A-Za-z_][^!:\s"]*)(:[^!\n]*)?!/y);
    const letters =
      this.#loops > 0 ? /%%?(?:~[a-z]*)?[A-Za-z0-9*]/iy : /%(?:%[A-Za-z]|~[a-z]*\d|[\d*])/iy;
    if (named === null && this.take(letters) === null) return false;
    const name = named?.[1] ?? named?.[3];
    if (name === undefined) {
      made.gap();
      return true;
    }
    made.variables.push(name);
    const known = this.#constants.get(name.toLowerCase());
    const part = named?.[2] ?? named?.[4];
    if (known === undefined || known === null || part !== undefined) made.gap();
    else made.add(known);
    return true;
  }
}

/** `rd/s`, `echo.x`, `cd\`: the name of a command of cmd ends here. */
function endsName(name: string, here: string): boolean {
  if (/[,;=]/.test(here) && name !== '') return true;
  if (!/[/.(:\\+[\]]/.test(here)) return false;
  const known = builtins.has(name.toLowerCase());
  return known || (here === '/' && /^[a-z]+(?:\.exe|\.com)?$/i.test(name));
}

function typed(file: WindowsWord): WindowsCommand {
  const words = [windowsTextWord('type', file.span), file];
  return { kind: 'command', span: file.span, words, input: [], shown: true, calls: [] };
}
