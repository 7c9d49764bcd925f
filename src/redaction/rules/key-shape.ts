/**
 * The notation for the forms of tokens in rules, and its patterns. It has no nested or unbounded
 * repetition, so that no pattern can run away on a hostile line.
 *
 * ```
 * ghp_{w36-255}                   a literal, then 36 to 255 letters or digits
 * (sk|rk)_(live|test)_{w16-247}   one of the literals
 * {w14}.atlasv1.{s60-90}          the literal need not come first
 * AccountKey=[{b86}==]            only the part in brackets is the secret
 * ```
 */

/** The letters of the notation, each with the inside of its character class. */
const classes: Readonly<Record<string, string>> = {
  d: '0-9',
  h: '0-9a-f',
  X: '0-9A-F',
  H: '0-9a-fA-F',
  a: 'a-z',
  A: 'A-Z',
  L: 'A-Za-z',
  l: 'a-z0-9',
  u: 'A-Z0-9',
  w: 'A-Za-z0-9',
  i: 'A-Za-z0-9_',
  s: 'A-Za-z0-9_-',
  m: 'a-z0-9-',
  p: 'A-Za-z0-9._-',
  b: 'A-Za-z0-9+/',
  e: 'A-Za-z0-9+/=_-',
  j: 'A-Za-z0-9_.~-',
  q: 'A-Za-z0-9%._~+/=-',
  v: '!#-%*-.0-:=?@A-Z^_a-z~$',
  t: 'A-Z2-7',
  o: './A-Za-z0-9',
  n: 'A-Za-z0-9.:/_-',
  k: './A-Za-z0-9$=,+',
  '=': '=',
  ' ': ' \\t',
};

/** From this length on, a run is long. */
export const longRunMin = 200;

const uuid = '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}';

export type ShapePart =
  | { readonly kind: 'text'; readonly options: readonly string[] }
  | {
      readonly kind: 'run';
      /** The letter of the class, or `U` for a UUID. */
      readonly of: string;
      readonly min: number;
      readonly max: number;
    }
  | { readonly kind: 'open' | 'close' };

export interface KeyShape {
  readonly parts: readonly ShapePart[];
  /** Lower-case literals, one of which is in every match. */
  readonly keywords: readonly string[];
  /** The fewest and the most characters before the keyword. */
  readonly leadMin: number;
  readonly leadMax: number;
  /** Sticky. Group 1 precedes the secret, group 2 is the secret. */
  readonly source: string;
}

const token = /\{([^}])(?:(\d+)(?:-(\d+))?)?\}|\(([^)]*)\)|([[\]])|([^{()[\]]+)/gy;

/** @throws Error if the notation is wrong, which is a fault in the table */
export function parseShape(notation: string): KeyShape {
  const parts = parseShapeParts(notation);
  const at = anchorOf(parts);
  const anchor = parts[at];
  if (anchor?.kind !== 'text') throw new Error(`no literal of 2 characters: ${notation}`);
  const lead = parts.slice(0, at);
  return {
    parts,
    keywords: anchor.options.map((option) => option.toLowerCase()),
    leadMin: lead.reduce((sum, part) => sum + leastOf(part), 0),
    leadMax: lead.reduce((sum, part) => sum + mostOf(part), 0),
    source: shapePatternSource(parts),
  };
}

/**
 * For forms that need no literal.
 *
 * @throws Error if the notation is wrong
 */
export function parseShapeParts(notation: string): ShapePart[] {
  const parts: ShapePart[] = [];
  let end = 0;
  for (const [all, of, min, max, options, mark, literal] of notation.matchAll(token)) {
    end += all.length;
    if (of !== undefined) {
      if (of !== 'U' && classes[of] === undefined) throw new Error(`no class "${of}": ${notation}`);
      const [least, most] = [Number(min ?? 1), Number(max ?? min ?? 1)];
      parts.push({ kind: 'run', of, min: of === 'U' ? 36 : least, max: of === 'U' ? 36 : most });
    } else if (mark !== undefined) parts.push({ kind: mark === '[' ? 'open' : 'close' });
    else addText(parts, options === undefined ? [literal ?? ''] : options.split('|'));
  }
  if (end !== notation.length) throw new Error(`cannot read the shape "${notation}"`);
  return parts;
}

/** The inside of a letter's character class, for texts that follow the notation. */
export function characterClassOf(letter: string): string {
  return classes[letter] ?? '';
}

/** Joins neighbouring literals, so that the keyword is as long as possible. */
function addText(parts: ShapePart[], options: readonly string[]): void {
  const last = parts.at(-1);
  if (last?.kind !== 'text' || last.options.length * options.length > 40) {
    parts.push({ kind: 'text', options });
    return;
  }
  const joined = last.options.flatMap((head) => options.map((tail) => head + tail));
  parts.splice(-1, 1, { kind: 'text', options: joined });
}

/**
 * The first literal, unless it is short and a later one is longer. Only one run, or parts of a
 * fixed length, can precede it, so that its position determines where the match begins.
 */
function anchorOf(parts: readonly ShapePart[]): number {
  let best = -1;
  let length = 1;
  for (const [at, part] of parts.entries()) {
    const lead = parts.slice(0, at).filter(({ kind }) => kind === 'run' || kind === 'text');
    const fixed = lead.every((one) => leastOf(one) === mostOf(one));
    const run = lead.length === 1 && lead[0]?.kind === 'run';
    const shortest = leastOf(part);
    if (part.kind === 'text' && (fixed || run) && shortest > length && (best < 0 || length < 4)) {
      best = at;
      length = shortest;
    }
  }
  return best;
}

function leastOf(part: ShapePart): number {
  if (part.kind === 'run') return part.min;
  return part.kind === 'text' ? Math.min(...part.options.map((option) => option.length)) : 0;
}

function mostOf(part: ShapePart): number {
  if (part.kind === 'run') return part.max;
  return part.kind === 'text' ? Math.max(...part.options.map((option) => option.length)) : 0;
}

/** A sticky pattern: group 1 precedes the secret, group 2 is the secret. */
export function shapePatternSource(parts: readonly ShapePart[]): string {
  let [before, inside] = ['', ''];
  let [opened, closed] = [!parts.some(({ kind }) => kind === 'open'), false];
  let after = '';
  for (const part of parts) {
    if (part.kind === 'open') opened = true;
    else if (part.kind === 'close') closed = true;
    else if (!opened) before += sourceOfPart(part);
    else if (closed) after += sourceOfPart(part);
    else inside += sourceOfPart(part);
  }
  const end = parts.findLast(({ kind }) => kind === 'run' || kind === 'text');
  const bound = end?.kind === 'run' ? boundOf(end.of, end.max) : '';
  return `(${before})(${inside})${after}${bound}`;
}

function sourceOfPart(part: ShapePart): string {
  if (part.kind === 'run') {
    return part.of === 'U' ? uuid : `[${characterClassOf(part.of)}]{${part.min},${part.max}}`;
  }
  if (part.kind !== 'text') return '';
  const options = part.options.map((option) => option.replaceAll(/[\\^$.*+?/|]/g, '\\$&'));
  return options.length === 1 ? (options[0] ?? '') : `(?:${options.join('|')})`;
}

/**
 * A token does not end in the middle of a longer run. A long run is hidden to its end, so that no
 * attempt reads much and then fails.
 */
function boundOf(letter: string, max: number): string {
  if (max >= longRunMin || letter === '=' || letter === ' ') return '';
  const wide = 'bespqiovjk'.includes(letter) ? characterClassOf(letter) : 'A-Za-z0-9';
  return `(?![${wide}])`;
}
