/**
 * Brace expansion as bash does it (braces.c): textual, before everything else, blind to what is
 * quoted and to expansions. Its odd corners are kept: `{a}b,c}` is `a}b c`, `{}` stays.
 */
import { textAtom, type Atom } from './atom.ts';

const wordsMax = 512;
const stepsMax = 50_000;
const signsMax = 8_192;

interface Work {
  steps: number;
}

/** The words that a word expands to; `null` for more than 512, or for too much work. */
export function expandBraces(atoms: readonly Atom[]): readonly (readonly Atom[])[] | null {
  if (!atoms.some((atom) => signOf(atom).includes('{'))) return [atoms];
  if (atoms.reduce((sum, atom) => sum + signOf(atom).length, 0) > signsMax) return null;
  const symbols = atoms.flatMap((atom) =>
    atom.kind === 'text' && !atom.quoted
      ? Array.from(atom.text, (sign) => textAtom(sign, false))
      : [atom],
  );
  const work = { steps: stepsMax };
  const words = expand(symbols, work);
  return work.steps < 0 ? null : words.map(joined);
}

function expand(symbols: readonly Atom[], work: Work): readonly (readonly Atom[])[] {
  const open = firstOpen(symbols, work);
  if (open === null || work.steps < 0) return [symbols];
  const [from, to] = open;
  const amble = symbols.slice(from + 1, to);
  const rest = symbols.slice(to + 1);
  const middle = alternatives(amble, work) ?? [symbols.slice(from, to + 1)];
  const tails = rest.length === 0 ? [[]] : expand(rest, work);
  if (middle.length * tails.length > wordsMax) work.steps = -1;
  if (work.steps < 0) return [symbols];
  work.steps -= middle.length * tails.length * symbols.length;
  const head = symbols.slice(0, from);
  return middle.flatMap((part) => tails.map((tail) => [...head, ...part, ...tail]));
}

/** Where the first pair of braces that expands opens and closes. */
function firstOpen(symbols: readonly Atom[], work: Work): readonly [number, number] | null {
  let from = gobble(symbols, 0, '{', work);
  while (from !== -1) {
    const to = gobble(symbols, from + 1, '}', work);
    if (to !== -1) return [from, to];
    from = gobble(symbols, from + 1, '{', work);
  }
  return null;
}

/** The alternatives between two braces, or `null` where they are no list and no range. */
function alternatives(amble: readonly Atom[], work: Work): readonly (readonly Atom[])[] | null {
  // In quotes a comma counts here, so that `{a.."b,c"}` loses its braces; an escaped one does not.
  const listed = amble.some((atom) => atom.kind === 'text' && !atom.escaped && /,/.test(atom.text));
  if (!listed) return range(amble, work);
  const found: (readonly Atom[])[] = [];
  let start = 0;
  while (start <= amble.length && work.steps >= 0) {
    const comma = gobble(amble, start, ',', work);
    const end = comma === -1 ? amble.length : comma;
    found.push(...expand(amble.slice(start, end), work));
    if (found.length > wordsMax) work.steps = -1;
    start = end + 1;
  }
  return found;
}

function gobble(symbols: readonly Atom[], from: number, want: string, work: Work): number {
  let level = 0;
  let separators = want === '}' ? 0 : 1;
  for (let at = from; at < symbols.length && work.steps >= 0; at += 1) {
    work.steps -= 1;
    const sign = signOf(symbols[at]);
    if (sign === want && level === 0 && separators > 0) {
      if (want === '{' && standsAlone(symbols, at)) continue;
      return at;
    }
    if (sign === '{') level += 1;
    else if (sign === '}' && level > 0) level -= 1;
    else if (want === '}' && level === 0 && separates(symbols, at)) separators += 1;
  }
  return -1;
}

/** `{}` and `{` behind a blank (only an escaped one is in a word) open nothing. */
function standsAlone(symbols: readonly Atom[], at: number): boolean {
  const before = symbols[at - 1];
  const blank = before?.kind === 'text' && before.escaped && /[ \t\n]$/.test(before.text);
  return (at === 0 || blank) && (at + 1 === symbols.length || signOf(symbols[at + 1]) === '}');
}

function separates(symbols: readonly Atom[], at: number): boolean {
  if (signOf(symbols[at]) === ',') return true;
  const dots = signOf(symbols[at]) === '.' && signOf(symbols[at + 1]) === '.';
  return dots && signOf(symbols[at + 2]) !== '}';
}

function range(amble: readonly Atom[], work: Work): readonly (readonly Atom[])[] | null {
  const source = amble.map(signOf);
  if (source.includes('')) return null;
  const match = /^([-+]?\d+|[A-Za-z])\.\.([-+]?\d+|[A-Za-z])(?:\.\.([-+]?\d+))?$/.exec(
    source.join(''),
  );
  const [, first = '', last = '', stride = '1'] = match ?? [];
  const letters = /^[A-Za-z]$/.test(first);
  if (match === null || letters !== /^[A-Za-z]$/.test(last)) return null;
  const [from, to] = letters ? [pointOf(first), pointOf(last)] : [Number(first), Number(last)];
  const step = Math.abs(Number(stride)) || 1;
  const count = Math.floor(Math.abs(to - from) / step) + 1;
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return null;
  if (count > wordsMax) {
    work.steps = -1;
    return null;
  }
  const padded = !letters && [first, last].some((end) => /^[-+]?0\d/.test(end));
  const width = padded ? Math.max(first.length, last.length) : 0;
  return Array.from({ length: count }, (_, index) => {
    const value = from + Math.sign(to - from) * step * index;
    const signs = letters ? String.fromCodePoint(value) : pad(value, width);
    return Array.from(signs, (sign) => textAtom(sign, !/[\w-]/.test(sign)));
  });
}

function pad(value: number, width: number): string {
  const digits = String(Math.abs(value));
  return value < 0 ? `-${digits.padStart(width - 1, '0')}` : digits.padStart(width, '0');
}

function pointOf(letter: string): number {
  return letter.codePointAt(0) ?? 0;
}

/** The unquoted text of an atom, else the empty string. */
function signOf(atom: Atom | undefined): string {
  return atom !== undefined && atom.kind === 'text' && !atom.quoted ? atom.text : '';
}

function joined(symbols: readonly Atom[]): Atom[] {
  const atoms: Atom[] = [];
  let run = '';
  for (const symbol of symbols) {
    if (signOf(symbol) === '') {
      if (run !== '') atoms.push(textAtom(run, false));
      run = '';
      atoms.push(symbol);
    } else run += signOf(symbol);
  }
  if (run !== '') atoms.push(textAtom(run, false));
  return atoms;
}
