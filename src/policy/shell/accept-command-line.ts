/** Reads a command line by a closed grammar: what it does not name is not accepted. */
import { fileSecrecy, globMayMatchSecret } from './secret.ts';

/** One accepted spelling. */
interface Spelling {
  readonly name: string;
  /** `null` a flag, else what its value may be. */
  readonly value: string | null;
  /** The value is in the same word, or missing. */
  readonly attached: boolean;
  /** The value is the next word where that fits, or there is none. */
  readonly loose: boolean;
}
type Grammar = ReadonlyMap<string, Spelling>;

/** A command line that the grammar accepts. */
export interface AcceptedCommandLine {
  /** Spellings that were given. */
  readonly given: ReadonlySet<string>;
  readonly operands: readonly string[];
  /** Position of `--` in the words, or `-1`. */
  readonly end: number;
}

const grammars = new Map<string, Grammar>();

function grammarOf(spellings: string): Grammar {
  const made = grammars.get(spellings);
  if (made !== undefined) return made;
  const grammar = new Map<string, Spelling>();
  for (const spelled of spellings.split(' ').filter((one) => one !== '')) {
    const [, name = '', how, value] = /^([^[=?]+)(?:([[?])?=([^\]]*)\]?)?$/.exec(spelled) ?? [];
    const attached = how === '[';
    grammar.set(name, { name, value: value ?? null, attached, loose: how === '?' });
  }
  grammars.set(spellings, grammar);
  return grammar;
}

/** The options and operands of `words`, or `null` where anything is not in the grammar. */
export function acceptCommandLine(
  words: readonly string[],
  spellings: string,
  clusters: boolean,
): AcceptedCommandLine | null {
  const grammar = grammarOf(spellings);
  const given = new Set<string>();
  const operands: string[] = [];
  let end = -1;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') {
      end = at;
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      operands.push(word);
      continue;
    }
    const read = word.startsWith('--')
      ? readLong(grammar, word, words[at + 1])
      : readShort(grammar, word, words[at + 1], clusters);
    if (read === null) return null;
    for (const name of read.names) given.add(name);
    at += read.took;
  }
  return { given, operands, end };
}

interface Step {
  readonly names: readonly string[];
  /** How many further words belong to it. */
  readonly took: 0 | 1;
}

function readLong(grammar: Grammar, word: string, next: string | undefined): Step | null {
  const equals = word.indexOf('=');
  const name = equals === -1 ? word : word.slice(0, equals);
  const spelling = grammar.get(name);
  if (spelling === undefined) return null;
  if (equals === -1) return bare(spelling, next);
  const fits = spelling.value !== null && fitsKind(word.slice(equals + 1), spelling.value);
  return fits ? { names: [name], took: 0 } : null;
}

function bare(spelling: Spelling, next: string | undefined): Step | null {
  const { name, value, attached, loose } = spelling;
  if (value === null || attached) return { names: [name], took: 0 };
  if (next !== undefined && fitsKind(next, value)) return { names: [name], took: 1 };
  return loose ? { names: [name], took: 0 } : null;
}

function readShort(
  grammar: Grammar,
  word: string,
  next: string | undefined,
  clusters: boolean,
): Step | null {
  const whole = grammar.get(word);
  if (whole !== undefined) return bare(whole, next);
  if (grammar.has('-#') && /^-\d+$/.test(word)) return { names: ['-#'], took: 0 };
  const names: string[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const spelling = grammar.get(`-${word.slice(at, at + 1)}`);
    if (spelling === undefined) return null;
    names.push(spelling.name);
    if (spelling.value === null) {
      if (!clusters) return null;
      continue;
    }
    const rest = word.slice(at + 1);
    if (rest !== '') return fitsKind(rest, spelling.value) ? { names, took: 0 } : null;
    const last = bare(spelling, next);
    return last === null ? null : { names, took: last.took };
  }
  return { names, took: 0 };
}

function fitsKind(value: string, kind: string): boolean {
  switch (kind) {
    case '*':
      return true;
    case '#':
      return /^\d{1,9}$/.test(value);
    // `%G…` starts gpg.
    case '%':
      return !/%[-+ ]?G/.test(value);
    // Also git's `1,5:path` and `:name:path`.
    case '@': {
      const path = value.slice(value.lastIndexOf(':') + 1);
      return isRelativePathInside(path) && isShowableFile(path);
    }
    // A glob that takes files in, and so could take in a secret one, must not name such.
    case '!':
      return value.startsWith('!') || (isShowableFile(value) && !globMayMatchSecret(value));
    default:
      return kind.split('|').includes(value);
  }
}

/**
 * Whether a file of this name may be shown without approval. `.env*` is refused by name: a file
 * `.environment` may hold what `.env` holds, so a person must look at it.
 */
export function isShowableFile(path: string): boolean {
  return fileSecrecy(path) === null && !/(?:^|[/\\])\.env/i.test(path);
}

/** Whether a path stays below where it starts: relative, and never above by `..`. */
export function isRelativePathInside(path: string): boolean {
  if (path === '' || /^[/~\\]/.test(path) || /\p{Cc}/u.test(path)) return false;
  let depth = 0;
  for (const part of path.split('/')) {
    depth += part === '..' ? -1 : part === '' || part === '.' ? 0 : 1;
    if (depth < 0) return false;
  }
  return true;
}
