/** Reads the options of a command line by the spellings of the knowledge base. */
import type { CommandNode } from './schema.ts';

/** One argument: `value` is `null` if it is dynamic. */
export interface CommandArgument {
  readonly value: string | null;
  readonly pieces: readonly (string | null)[];
}

/** Options and operands of one command line; positions are indexes into the words given. */
export interface ParsedOptions<T extends CommandArgument> {
  /** Effect → values; a flag has the value `null`. */
  readonly options: ReadonlyMap<string, readonly (OptionValue<T> | null)[]>;
  readonly operands: readonly number[];
  /** Words that look like options and are in no spelling. */
  readonly unknown: readonly number[];
}
/** The value of an option: its static text, and the word that carries it. */
export interface OptionValue<T> {
  readonly text: string | null;
  readonly word: T;
}

type Arity = 'none' | 'required' | 'inline';
interface Spelling {
  readonly effect: string;
  readonly arity: Arity;
}
type Spellings = ReadonlyMap<string, Spelling>;

const known = new WeakMap<Record<string, string>, Spellings>();
const nothing: Spellings = new Map();

function spellings(options: Record<string, string> | undefined): Spellings {
  if (options === undefined) {
    return nothing;
  }
  const cached = known.get(options);
  if (cached !== undefined) {
    return cached;
  }
  const table = new Map<string, Spelling>();
  for (const [effect, list] of Object.entries(options)) {
    for (const spelled of list.split(' ')) {
      const arity = spelled.endsWith('[=]')
        ? 'inline'
        : spelled.endsWith('=')
          ? 'required'
          : 'none';
      table.set(spelled.replace(/(\[=\]|=)$/, ''), { effect, arity });
    }
  }
  known.set(options, table);
  return table;
}

/** Reads options and operands. Never throws; what it does not know is in `unknown`. */
export function parseCommandOptions<T extends CommandArgument>(
  words: readonly T[],
  node: CommandNode,
): ParsedOptions<T> {
  const reader = new Reader<T>(words, spellings(node.options));
  const style = node.style ?? (node.subs === undefined ? 'gnu' : 'posix');
  return reader.read(style);
}

class Reader<T extends CommandArgument> {
  readonly options = new Map<string, (OptionValue<T> | null)[]>();
  readonly operands: number[] = [];
  readonly unknown: number[] = [];
  private at = 0;
  private readonly words: readonly T[];
  private readonly table: Spellings;

  constructor(words: readonly T[], table: Spellings) {
    this.words = words;
    this.table = table;
  }

  read(style: NonNullable<CommandNode['style']>): ParsedOptions<T> {
    for (; this.at < this.words.length; this.at += 1) {
      const word = this.words[this.at];
      const text = word?.value ?? word?.pieces[0] ?? null;
      if (word === undefined) {
        break;
      }
      if (text === '--' && word.value !== null) {
        this.take(this.at + 1);
        break;
      }
      if (style === 'windows' && text !== null && this.switches(text)) continue;
      if (
        text === null ||
        !/^[-+]./.test(text) ||
        (text.startsWith('+') && !this.table.has(text))
      ) {
        if (style === 'posix') {
          this.take(this.at);
          break;
        }
        this.operands.push(this.at);
      } else if (text.startsWith('--')) {
        this.long(word, text);
      } else if (this.table.has(text) && word.value !== null) {
        this.whole(text);
      } else if (style === 'exact') {
        this.attached(word, text);
      } else {
        this.cluster(word, text);
      }
    }
    return this;
  }

  private switches(text: string): boolean {
    const spelled = text.toLowerCase().replace(/^(?:\/|--?)/, '-');
    if (!this.table.has(spelled)) return /^[-/]./.test(text);
    this.whole(spelled);
    return true;
  }

  private take(from: number): void {
    for (let at = from; at < this.words.length; at += 1) {
      this.operands.push(at);
    }
  }

  private add(effect: string, value: OptionValue<T> | null): void {
    const before = this.options.get(effect);
    if (before === undefined) {
      this.options.set(effect, [value]);
    } else {
      before.push(value);
    }
  }

  private next(): OptionValue<T> | null {
    const word = this.words[this.at + 1];
    if (word === undefined) {
      return null;
    }
    this.at += 1;
    return { text: word.value, word };
  }

  private whole(text: string): void {
    const spelling = this.table.get(text);
    if (spelling !== undefined) {
      this.add(spelling.effect, spelling.arity === 'required' ? this.next() : null);
    }
  }

  private long(word: T, text: string): void {
    const equals = text.indexOf('=');
    const name = equals === -1 ? text : text.slice(0, equals);
    const spelling = this.table.get(name) ?? this.prefixed(name);
    if (spelling === undefined || (word.value === null && equals === -1)) {
      this.unknown.push(this.at);
    } else if (equals !== -1) {
      const value = word.value === null ? null : text.slice(equals + 1);
      this.add(spelling.effect, { text: value, word });
    } else {
      this.add(spelling.effect, spelling.arity === 'required' ? this.next() : null);
    }
  }

  /** GNU long options: any prefix that means one thing. */
  private prefixed(name: string): Spelling | undefined {
    if (name.length < 3) {
      return undefined;
    }
    let found: Spelling | undefined;
    for (const [spelled, spelling] of this.table) {
      if (spelled.startsWith(name)) {
        if (found !== undefined && found.effect !== spelling.effect) {
          return undefined;
        }
        found = spelling;
      }
    }
    return found;
  }

  private attached(word: T, text: string): void {
    const spelling = this.table.get(text.slice(0, 2));
    if (spelling === undefined || spelling.arity === 'none') {
      this.unknown.push(this.at);
    } else {
      this.add(spelling.effect, { text: word.value === null ? null : text.slice(2), word });
    }
  }

  private cluster(word: T, text: string): void {
    const sign = text.slice(0, 1);
    for (let at = 1; at < text.length; at += 1) {
      const spelling = this.table.get(`${sign}${text.slice(at, at + 1)}`);
      if (spelling === undefined) {
        if (at === 1 || this.unknown.at(-1) !== this.at) {
          this.unknown.push(this.at);
        }
        continue;
      }
      const rest = text.slice(at + 1);
      if (spelling.arity === 'none' || (spelling.arity === 'inline' && rest === '')) {
        this.add(spelling.effect, null);
        continue;
      }
      if (rest === '' && word.value !== null) {
        this.add(spelling.effect, this.next());
      } else {
        this.add(spelling.effect, { text: word.value === null ? null : rest, word });
      }
      return;
    }
  }
}
