/**
 * Names that disclose denied files: their paths, the names of their packages, words of the policy.
 */
import { latin1 } from '../encodings/text.ts';
import { PatternSet, squeezedForms, squeezeText, type SqueezedText } from './exact-patterns.ts';
import { fieldOf } from '../json-shape.ts';

export interface NameHit {
  /** The path or name that the text discloses. */
  readonly name: string;
  /** `block`: a whole path or a name of the policy. `review`: a distinctive part. */
  readonly decision: 'review' | 'block';
  /** Bytes `[from, to)` of the searched text. */
  readonly span: readonly [number, number];
}

export interface PackageName {
  readonly name: string;
  readonly decision: 'review' | 'block';
}

export interface DeniedNamesInput {
  /** Denied files, relative to the workspace's root. */
  readonly paths: Iterable<string>;
  /** Names of the policy in any form. They are found whatever is written between their words. */
  readonly words?: Iterable<string>;
  /** Names of denied packages, by {@link readPackageNames}. */
  readonly packages?: Iterable<PackageName>;
  /** Paths that the audience can already see: their names disclose nothing. */
  readonly visible?: Iterable<string>;
}

const hitsMax = 100;

/**
 * What discloses a denied file:
 * - a whole path of at least two parts with a word that is not common in paths: `block`. A
 *   directory can precede it, as in `a/`, `./` and absolute paths;
 * - its last two parts, if both have such a word, or its last part, if it is long and of several
 *   words: `review`. So does the path of a source without its extension, or with that of a build
 *   product (`.d.ts`, `.js.map`);
 * - the name of a package: as {@link readPackageNames} decides;
 * - a name of the policy: `block`.
 *
 * A name that also occurs in the audience's own paths discloses nothing.
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

  /** Each name once, at its first position, the strictest first; at most 100. */
  find(bytes: Uint8Array, squeezed: SqueezedText | null = null): readonly NameHit[] {
    const found = new Map<string, NameHit>();
    const add = (hit: NameHit): void => {
      if (found.size < hitsMax && !found.has(hit.name)) found.set(hit.name, hit);
    };
    const text = folded(latin1(bytes));
    this.#paths.forEachMatch(text, ({ name, decision }, from, to) => {
      if (!isSeparate(text, from, to)) return false;
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
    const disclosure: PackageName = { name, decision: 'review' };
    if (path.includes('/') && isDistinctive(name)) {
      for (const form of derivedForms(path)) parts.set(form, disclosure);
      whole.set(path, { name, decision: 'block' });
    }
    const [above = '', last = ''] = endOf(name, 2).split('/');
    if (isDistinctive(above) && isDistinctive(last)) {
      parts.set(folded(bytesText(`${above}/${last}`)), disclosure);
    }
    const end = endOf(name, 1);
    // A name in several directories is a convention.
    if (isDistinctiveName(end) && (ends.get(end) ?? 0) <= sameMax) {
      for (const form of derivedForms(folded(bytesText(end)))) parts.set(form, disclosure);
    }
  }
  // The end of a path that the audience can see discloses nothing.
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

/** Whether a path has a word that is not common in paths. */
const isDistinctive = (path: string): boolean =>
  splitNameWords(path.replace(/\.[^./]*$/, '')).some(
    (word) => word.length >= lettersMin && !isGenericWord(word),
  );

const distinctiveMin = 12;
const ownLettersMin = 6;

/** Whether the name of a file alone discloses it: it has several words, not all of them common. */
function isDistinctiveName(name: string): boolean {
  const stem = name.replace(/\.[^.]*$/, '');
  const words = splitNameWords(stem);
  const own = words.filter((word) => word.length >= ownLettersMin && !isGenericWord(word));
  return stem.length >= distinctiveMin && words.length > 1 && own.length > 0 && stem !== name;
}

const sourceExtension = /\.(?:[cm]?[jt]sx?|d\.ts|vue|svelte|py|rb|go|rs|java|kt|scala|cs|php)$/;

/** A path as imports write it, and the paths of its build products. */
function derivedForms(path: string): readonly string[] {
  if (!sourceExtension.test(path)) return [path];
  const stem = path.replace(sourceExtension, '');
  const made = ['.js', '.mjs', '.cjs', '.jsx', '.d.ts', '.js.map', '.d.ts.map', '.pyc'];
  const forms = [path, ...made.map((extension) => stem + extension)];
  // Without a directory and an extension, a name is just a word.
  return path.includes('/') ? [...forms, stem] : forms;
}

const bytesText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

/** Lower-case, with one separator between the parts of paths. */
const folded = (text: string): string => text.toLowerCase().replaceAll('\\', '/');

/** Whether a path is not in the middle of a longer name. */
function isSeparate(text: string, from: number, to: number): boolean {
  return !/[\w.@+~-]/.test(text.charAt(from - 1)) && !/\w/.test(text.charAt(to));
}

/** Whether a word is not in the middle of a longer one: `Acme` is not in `Macmeal`. */
function isWord(bytes: Uint8Array, [from, to]: readonly [number, number]): boolean {
  const [before, first] = latin1(bytes.subarray(Math.max(0, from - 1), from + 1)).padStart(2, ' ');
  const [last, after = ' '] = latin1(bytes.subarray(to - 1, to + 1));
  const isLetter = (one = ' '): boolean => /[A-Za-z0-9]/.test(one);
  const isCapital = (one = ' '): boolean => /[A-Z]/.test(one);
  const isDigit = (one = ' '): boolean => /\d/.test(one);
  // A word begins with a capital after a lower-case letter, and where digits begin or end.
  const changes = (one = ' ', next = ' '): boolean =>
    !isLetter(one) ||
    !isLetter(next) ||
    (isCapital(next) && !isCapital(one)) ||
    isDigit(one) !== isDigit(next);
  return changes(before, first) && changes(last, after);
}

/**
 * The distinctive names in a package manifest: `package.json`, `Cargo.toml`, `pyproject.toml`,
 * `go.mod`. If the manifest says that the package is not published, the name blocks; if it says
 * nothing, a person reviews it; with an open license, the name is public.
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
    // npm cannot read it either, so there is no package.
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

/** Without a scope, a name can be any word. */
function named(name: string, isPrivate: boolean, isPublic: boolean): readonly PackageName[] {
  const isScoped = /^@[^/]+\/./.test(name) && isDistinctive(name);
  if (!isScoped && !(isPrivate && isDistinctiveName(`${name}.x`))) return [];
  if (!isPrivate && isPublic) return [];
  return [{ name, decision: isScoped && isPrivate ? 'block' : 'review' }];
}

const genericWords: ReadonlySet<string> = new Set(
  [
    // Directories and files.
    'api app apps assets authors babel bin build cache changelog cjs cli client cmd common',
    'components config configs conftest content contributing copying core css cts data db',
    'debug default demo deps dev dist doc dockerfile docs env environment es eslint esm etc',
    'example examples ext external fixtures fonts gemfile history hooks html http https icons',
    'images img include includes index infra init jest js json lang latest legacy lib libs',
    'licence license local locale locales lock main makefile manage media middleware',
    'migrations mjs mocks models module modules mts next node nodes notice out output package',
    'packages page pages party pkg plugin plugins prettier prod public readme release',
    'resources rollup root routes runtime samples schema schemas script scripts security',
    'server service services settings setup share shared site source sources spec specs src',
    'static store stores styles stylesheets support system target task tasks temp template',
    'templates test testdata tests theme themes third tmp tools ts tsconfig types typings ui',
    'umd user users util utilities utility utils vendor version views vite web webpack',
    'website worker workers workflows workspace www',
    // What code does.
    'abstract action actions adapter add after all and any args array as async at auth base',
    'batch before bench benchmark binary block bool boolean browser buffer builder by byte',
    'bytes call callback case chain change check child class clean clear clone close code',
    'codec collection color command commands compare compat compile compiler component',
    'connect connection console const constant constants container context control controller',
    'convert copy count create current date debounce decode decoder def define definition',
    'definitions delete depth diff directory dispatch document dom draw each edit element',
    'email emit emitter empty encode encoder encoding end engine entries entry enum equal',
    'error errors escape eval event events exception exec execute exit export exports extend',
    'extension extensions factory fetch field file files filter find first flag flags flat',
    'flatten float flow fn fold for form format formatter formatters from function functions',
    'general generate generator generic get getter global globals graph group guard handle',
    'handler handlers has hash head header headers helper helpers hook host icon id identity',
    'if image impl import imports in info input insert instance instances int integer',
    'interface interfaces is item items iterator join key keys kind label last layout left',
    'length level line lines link list listener load loader locals log logger logging login',
    'loop make manager map mapping match math max memory merge message messages meta method',
    'methods min mixin mode model name names native network new no none normalize not null',
    'number object objects observer of off on once open operation operator operators option',
    'optional options or order page parse parser part patch path paths pattern patterns pipe',
    'platform point polyfill pool port post prefix print process project promise properties',
    'property props protocol provider providers proxy push query queue random range read',
    'reader record reduce ref reference register registry remove render renderer repeat',
    'replace report reporter request require resolve resolver response rest result results',
    'return reverse right route router rule rules run runner safe sample save scan scanner',
    'scope search select selector send sequence serialize serializer session set setter shim',
    'simple single size slice socket sort split stack standard start state stats status step',
    'stop storage stream string strings struct style suffix sum symbol sync syntax table tag',
    'tags take text time timeout timer timestamp to token tokenizer tokens tool top trace',
    'transform transformer traverse tree trim type typed uid undefined union unit update',
    'upload url use utf util validate validation validator validators value values var',
    'variable variables verify view visitor void wait walk watch watcher weak with without',
    'wrap wrapper write writer xml yaml zip',
    // What is about code, and other common words.
    'accessor algorithm argument arguments calendar character commonjs declaration decorator',
    'detail details discussion ensure getting grammar immediate incident inherit inherits',
    'iterable iterator language limit month primary problem quick readable regular reports',
    'response secondary sentinel series simple special started stream streams summary threat',
    'timezone tutorial upgrade upgrading usage warning warnings weekday wordwrap writable',
  ].flatMap((line) => line.split(' ')),
);

/** The lower-case words of a name, split at signs and before capitals. */
export function splitNameWords(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\x80-\uffff]+/)
    .filter((word) => word.length >= 3);
}

/** Whether a word is common in names. */
export const isGenericWord = (word: string): boolean =>
  genericWords.has(word) || (word.endsWith('s') && genericWords.has(word.slice(0, -1)));
