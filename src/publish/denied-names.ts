/** Names that tell of what is denied: paths of denied files, their package names, words. */
import { fieldOf } from '../json-shape.ts';
import { latin1 } from './decode-format.ts';
import { PatternSet } from './exact-patterns.ts';
import { squeezeText, squeezedForms, type SqueezedText } from './exact-squeeze.ts';
import { isGenericWord, splitNameWords } from './generic-names.ts';

export interface NameHit {
  /** The path or name that is told. */
  readonly name: string;
  /** `block`: a whole path or a name of the policy. `review`: a part that is distinctive. */
  readonly decision: 'review' | 'block';
  /** Bytes `[from, to)` of what was searched. */
  readonly span: readonly [number, number];
}

export interface PackageName {
  readonly name: string;
  readonly decision: 'review' | 'block';
}

export interface DeniedNamesInput {
  /** Denied files, relative to the workspace's root. */
  readonly paths: Iterable<string>;
  /** Names of the policy: words of any form. Found whatever stands between their words. */
  readonly words?: Iterable<string>;
  /** Names of denied packages, of `packageNames`. */
  readonly packages?: Iterable<PackageName>;
  /** Paths that the audience sees already: what they tell is not denied. */
  readonly visible?: Iterable<string>;
}

const hitsMax = 100;

/**
 * What counts as told:
 * - a whole path of two parts and more, if one word of it is not one that paths have everywhere:
 *   `block`. Before it there may be a directory, as in `a/`, `./` and absolute paths;
 * - its last two parts, if both have such a word, or its last one, if it is long and several words:
 *   `review`. So is the path of a source without its extension, or with that of what is made of it
 *   (`.d.ts`, `.js.map`);
 * - names of packages: as {@link readPackageNames} decides;
 * - names of the policy: `block`.
 *
 * What the audience's own paths have is not told by them.
 */
export class DeniedNames {
  readonly #paths: PatternSet<PackageName>;
  readonly #words: PatternSet<string>;

  constructor(given: DeniedNamesInput) {
    this.#paths = new PatternSet(patternsOf(given));
    this.#words = new PatternSet(
      [...(given.words ?? [])].flatMap((word) =>
        squeezedForms(word).map((form) => [form, word] as const),
      ),
    );
  }

  /** Each name once, at its first place, the strictest first; at most 100. */
  find(bytes: Uint8Array, squeezed: SqueezedText | null = null): readonly NameHit[] {
    const found = new Map<string, NameHit>();
    const add = (hit: NameHit): void => {
      if (found.size < hitsMax && !found.has(hit.name)) found.set(hit.name, hit);
    };
    const text = folded(latin1(bytes));
    this.#paths.forEachMatch(text, ({ name, decision }, from, to) => {
      if (!standsAlone(text, from, to)) return false;
      add({ name, decision, span: [from, to] });
      return true;
    });
    if (!this.#words.isEmpty) {
      const { text: letters, at } = squeezed ?? squeezeText(bytes);
      this.#words.forEachMatch(letters, (name, from, to) => {
        const span = [at[from] ?? 0, (at[to - 1] ?? 0) + 1] as const;
        if (!isWord(bytes, span) || span[1] - span[0] > 3 * (to - from) + 40) return false;
        add({ name, decision: 'block', span });
        return true;
      });
    }
    const order = { block: 0, review: 1 } as const;
    return [...found.values()].toSorted((a, b) => order[a.decision] - order[b.decision]);
  }
}

const sameMax = 2;

const endOf = (path: string, parts: number): string => path.split(/[/\\]/).slice(-parts).join('/');

function patternsOf(given: DeniedNamesInput): Map<string, PackageName> {
  const { paths, packages = [], visible = [] } = given;
  const whole = new Map<string, PackageName>();
  const parts = new Map<string, PackageName>();
  const ends = new Map<string, number>();
  const all = [...paths];
  for (const name of all) {
    const end = endOf(name, 1);
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  for (const name of all) {
    const path = folded(bytesText(name));
    const told: PackageName = { name, decision: 'review' };
    if (path.includes('/') && isDistinctive(name)) {
      for (const form of derivedForms(path)) parts.set(form, told);
      whole.set(path, { name, decision: 'block' });
    }
    const [above = '', last = ''] = endOf(name, 2).split('/');
    if (isDistinctive(above) && isDistinctive(last)) {
      parts.set(folded(bytesText(`${above}/${last}`)), told);
    }
    const end = endOf(name, 1);
    // What several directories have is a convention.
    if (isTellingName(end) && (ends.get(end) ?? 0) <= sameMax) {
      for (const form of derivedForms(folded(bytesText(end)))) parts.set(form, told);
    }
  }
  // Whatever ends as a path that the audience sees is not told by it.
  for (const path of visible) {
    const seen = folded(bytesText(path));
    for (let at = -1; ;) {
      for (const form of derivedForms(seen.slice(at + 1))) {
        whole.delete(form);
        parts.delete(form);
      }
      at = seen.indexOf('/', at + 1);
      if (at === -1) break;
    }
  }
  const named = [...packages].map((one) => [folded(bytesText(one.name)), one] as const);
  return new Map([...parts, ...whole, ...named]);
}

const lettersMin = 4;

/** Whether a path has a word that is not one which paths have everywhere. */
const isDistinctive = (path: string): boolean =>
  splitNameWords(path.replace(/\.[^./]*$/, '')).some(
    (word) => word.length >= lettersMin && !isGenericWord(word),
  );

const tellingMin = 12;
const ownLettersMin = 6;

/** Whether the name of a file by itself tells of it: several words, not all of them common. */
function isTellingName(name: string): boolean {
  const stem = name.replace(/\.[^.]*$/, '');
  const words = splitNameWords(stem);
  const own = words.filter((word) => word.length >= ownLettersMin && !isGenericWord(word));
  return stem.length >= tellingMin && words.length > 1 && own.length > 0 && stem !== name;
}

const sourceExtension = /\.(?:[cm]?[jt]sx?|d\.ts|vue|svelte|py|rb|go|rs|java|kt|scala|cs|php)$/;

/** How a path is written where it is imported, and what is made of it. */
function derivedForms(path: string): readonly string[] {
  if (!sourceExtension.test(path)) return [path];
  const stem = path.replace(sourceExtension, '');
  const made = ['.js', '.mjs', '.cjs', '.jsx', '.d.ts', '.js.map', '.d.ts.map', '.pyc'];
  const forms = [path, ...made.map((extension) => stem + extension)];
  // By itself a name without its extension is a word.
  return path.includes('/') ? [...forms, stem] : forms;
}

const bytesText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** Small letters, and one sign between the parts of paths. */
const folded = (text: string): string => text.toLowerCase().replaceAll('\\', '/');

/** Whether a path is not the middle of a longer name. */
function standsAlone(text: string, from: number, to: number): boolean {
  return !/[\w.@+~-]/.test(text.charAt(from - 1)) && !/\w/.test(text.charAt(to));
}

/** Whether what was found is not the middle of a longer word: `Acme` is not in `Macmeal`. */
function isWord(bytes: Uint8Array, [from, to]: readonly [number, number]): boolean {
  const [before, first] = latin1(bytes.subarray(Math.max(0, from - 1), from + 1)).padStart(2, ' ');
  const [last, after = ' '] = latin1(bytes.subarray(to - 1, to + 1));
  const isLetter = (one = ' '): boolean => /[A-Za-z0-9]/.test(one);
  const isCapital = (one = ' '): boolean => /[A-Z]/.test(one);
  const isDigit = (one = ' '): boolean => /\d/.test(one);
  // A word begins with a capital after a small letter, and where digits begin or end.
  const changes = (one = ' ', next = ' '): boolean =>
    !isLetter(one) ||
    !isLetter(next) ||
    (isCapital(next) && !isCapital(one)) ||
    isDigit(one) !== isDigit(next);
  return changes(before, first) && changes(last, after);
}

/**
 * Names of its own that a manifest of a package tells: `package.json`, `Cargo.toml`,
 * `pyproject.toml`, `go.mod`. What says that it is not published blocks, what says nothing of it
 * is for a person to see; what has a license for everybody is public.
 */
export function readPackageNames(path: string, bytes: Uint8Array): readonly PackageName[] {
  const base = path.slice(path.lastIndexOf('/') + 1);
  const text = (): string => Buffer.from(bytes.subarray(0, 1_048_576)).toString('utf8');
  switch (base) {
    case 'package.json':
      return npmName(text());
    case 'Cargo.toml':
      return tomlName(text(), /^\s*publish\s*=\s*(?:false|\[\s*\])/m);
    case 'pyproject.toml':
      return tomlName(text(), /Private\s*::/);
    case 'go.mod': {
      const [, name] = /^module\s+"?([^\s"]+)/m.exec(text()) ?? [];
      return name === undefined || !name.includes('/') ? [] : [{ name, decision: 'review' }];
    }
    default:
      return [];
  }
}

function npmName(text: string): readonly PackageName[] {
  let manifest: unknown;
  try {
    manifest = JSON.parse(text);
  } catch {
    // What npm cannot read names no package.
    return [];
  }
  if (typeof manifest !== 'object' || manifest === null) return [];
  const name = fieldOf(manifest, 'name');
  if (typeof name !== 'string') return [];
  const license = fieldOf(manifest, 'license');
  const isPublic = typeof license === 'string' && !/^(?:unlicensed|see licen[cs]e)/i.test(license);
  return named(name, fieldOf(manifest, 'private') === true, isPublic);
}

function tomlName(text: string, secret: RegExp): readonly PackageName[] {
  const [, name] = /^\s*name\s*=\s*["']([^"'\n]+)["']/m.exec(text) ?? [];
  return name === undefined ? [] : named(name, secret.test(text), /^\s*license\b/m.test(text));
}

/** A name without a scope may be any word. */
function named(name: string, isPrivate: boolean, isPublic: boolean): readonly PackageName[] {
  const isScoped = /^@[^/]+\/./.test(name) && isDistinctive(name);
  if (!isScoped && !(isPrivate && isTellingName(`${name}.x`))) return [];
  if (!isPrivate && isPublic) return [];
  return [{ name, decision: isScoped && isPrivate ? 'block' : 'review' }];
}
