/** Which files of a workspace the words of a text may mean. Reads the host's file system. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync, type Stats } from 'node:fs';
import path from 'node:path';
import { isPathInside } from '../path-containment.ts';

const basesMax = 64;
const foundMax = 512;
const tokenMax = 4_096;
const tokensMax = 16_384;
const matchesMax = 1_024;

/** A word, or part of one, that is the name of something. */
export interface MentionedFile {
  /** Absolute, as it was named: links are not followed. */
  readonly file: string;
  /** Where the host has it: there, or in the layer of the session. */
  readonly hostPath: string;
}

export interface MentionResolverOptions {
  readonly workspace: string;
  /** Where what commands changed lies until it is applied; `null`: nowhere. */
  readonly layer: string | null;
  /** Whether a path does not exist for commands. */
  readonly isHidden: (file: string) => boolean;
  /** Directories that the text may be in. */
  readonly bases: readonly string[];
}

const separators = /[\s"'`()<>|;&,=:{}@!?*[\]#\\\0]+/;

/** `--x=a:b` may mean the files `b`, `a`, `a:b` and that of the whole word. */
export function nameTokens(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (token: string): void => {
    const name = token.replace(/^file:\/\//, '').replace(/^~\+(?=\/|$)/, '.');
    if (name !== '' && name !== '.' && name.length <= tokenMax) found.add(name);
  };
  add(text);
  for (const part of text.split(separators)) {
    add(part);
    if (/^-[A-Za-z]./.test(part)) add(part.slice(2));
  }
  // `-fmy file`, `-nfmy file`
  const [, letters = ''] = /^-([A-Za-z]{1,8})./s.exec(text) ?? [];
  for (let at = 1; at <= letters.length; at += 1) add(text.slice(at + 1));
  const [, value] = /^[^=]*=([^]*)$/.exec(text) ?? [];
  if (value !== undefined) add(value);
  return found;
}

/** Names of a workspace, relative to each directory that the text may be in. */
export class MentionResolver {
  /** Whether a bound was reached: then not all that is named was found. */
  isTruncated = false;
  readonly #workspace: string;
  readonly #layer: string | null;
  readonly #isHidden: MentionResolverOptions['isHidden'];
  readonly #tokens = new Set<string>();
  readonly #patterns = new Set<string>();
  readonly #bases = new Set<string>();
  readonly #listed = new Map<string, ReadonlySet<string>>();
  readonly #found = new Map<string, MentionedFile>();

  constructor({ workspace, layer, isHidden, bases }: MentionResolverOptions) {
    this.#workspace = workspace;
    this.#layer = layer;
    this.#isHidden = isHidden;
    for (const base of bases) this.#addBase(base);
  }

  /** Every file and directory that was named so far, by its name. */
  get found(): ReadonlyMap<string, MentionedFile> {
    return this.#found;
  }

  /** Every file that a name may mean, whether something is there or not. */
  candidatePaths(name: string): readonly string[] {
    const layer = this.#layer;
    const files = [...this.#bases].map((base) => path.resolve(base, name));
    const own = files.filter((file) => isPathInside(file, this.#workspace));
    const inLayer = (file: string): string | [] =>
      layer === null ? [] : path.join(layer, path.relative(this.#workspace, file));
    return [...own, ...own.flatMap((file) => inLayer(file))];
  }

  addText(text: string): void {
    const fresh = [...nameTokens(text)].filter((token) => !this.#tokens.has(token));
    for (const token of fresh) {
      if (this.#tokens.size >= tokensMax) this.isTruncated = true;
      else this.#tokens.add(token);
    }
    for (const token of fresh) this.#lookEverywhere(token);
  }

  addGlob(pattern: string): void {
    if (this.#patterns.has(pattern)) return;
    this.#patterns.add(pattern);
    for (const base of this.#bases) this.#expand(base, pattern);
  }

  /** Those of one word or pattern. */
  filesOf(text: string): readonly MentionedFile[] {
    const at = (name: string): MentionedFile | [] => this.#found.get(name) ?? [];
    const bases = [...this.#bases];
    const own = bases.flatMap((base) => at(path.resolve(base, text)));
    if (!/[*?[(]/.test(text)) return own;
    const matched = bases.flatMap((base) => this.#matches(base, text));
    return [...own, ...matched.flatMap((name) => at(name))];
  }

  #lookEverywhere(token: string): void {
    if (!path.isAbsolute(token)) {
      // What is found may be a directory, which the loop then comes to.
      for (const base of this.#bases) this.#lookFrom(base, token);
      return;
    }
    const file = path.resolve(token);
    this.#look(isPathInside(file, this.#workspace) ? file : realOf(file));
  }

  #lookFrom(base: string, token: string): void {
    const [first = ''] = token.split('/', 1);
    if (first !== '.' && first !== '..' && !this.#names(base).has(first)) return;
    this.#look(path.resolve(base, token));
  }

  #look(file: string): void {
    if (file === this.#workspace) this.#addBase(file);
    if (this.#found.has(file) || file === this.#workspace) return;
    if (!isPathInside(file, this.#workspace)) return;
    const found = this.#waiting(file) ?? lookAt(file);
    if (found === null || found.stat === null) return;
    if (this.#isHidden(file) || this.#isHidden(realOf(found.at))) return;
    if (this.#found.size >= foundMax) {
      this.isTruncated = true;
      return;
    }
    const { at, stat } = found;
    this.#found.set(file, { file, hostPath: at });
    if (stat.isDirectory()) this.#addBase(file);
    if (!stat.isSymbolicLink()) return;
    if (at === file && statSync(file, { throwIfNoEntry: false })?.isDirectory() === true) {
      this.#addBase(file);
    }
    // In the overlay only the text of a link shows its target.
    if (at !== file) this.addText(path.resolve(path.dirname(file), readlinkSync(at)));
  }

  /** What the session's commands see there instead; `null`: what the workspace has. */
  #waiting(file: string): Sight | null {
    if (this.#layer === null) return null;
    const found = lookAt(path.join(this.#layer, path.relative(this.#workspace, file)));
    if (found === null || found.stat === null) return null;
    if (found.stat.isDirectory()) return lookAt(file) === null ? found : null;
    // A whiteout: nothing is seen there.
    return found.stat.isCharacterDevice() ? { ...found, stat: null } : found;
  }

  /** From now on every word may be a name in it: of a script after `cd`, of a program on `PATH`. */
  #addBase(base: string): void {
    if (this.#bases.has(base) || !isPathInside(base, this.#workspace)) return;
    if (this.#bases.size >= basesMax) {
      this.isTruncated = true;
      return;
    }
    this.#bases.add(base);
    for (const token of this.#tokens) if (!path.isAbsolute(token)) this.#lookFrom(base, token);
    for (const pattern of this.#patterns) this.#expand(base, pattern);
  }

  #expand(base: string, pattern: string): void {
    for (const file of this.#matches(base, pattern)) this.#look(file);
  }

  /** All that a pattern may match, and more: which signs mean what is the shell's own matter. */
  #matches(base: string, pattern: string): readonly string[] {
    const isAbsolute = path.isAbsolute(pattern);
    let at: readonly string[] = [isAbsolute ? '/' : base];
    for (const part of pattern.replace(/^~\+\//, '').split('/')) {
      if (part === '' || part === '.') continue;
      const isPlain = !/[*?[\]()+@!|^#~]/.test(part);
      if (part.includes('**')) this.isTruncated = true;
      const fits = new RegExp(`^${part.split(signs).map(escaped).join('.*')}$`, 's');
      at = at.flatMap((directory) => {
        const next = path.join(directory, part);
        const isAbove = isPathInside(this.#workspace, next) || isPathInside(next, this.#workspace);
        if (isPlain) return isAbove ? [next] : [];
        if (!isPathInside(directory, this.#workspace)) return [];
        return [...this.#names(directory)]
          .filter((name) => fits.test(name))
          .map((name) => path.join(directory, name));
      });
      if (at.length > matchesMax) {
        this.isTruncated = true;
        return at.slice(0, matchesMax);
      }
    }
    return at;
  }

  #names(directory: string): ReadonlySet<string> {
    const known = this.#listed.get(directory);
    if (known !== undefined) return known;
    const inLayer =
      this.#layer === null
        ? []
        : listOf(path.join(this.#layer, path.relative(this.#workspace, directory)));
    const names = new Set([...listOf(directory), ...inLayer]);
    this.#listed.set(directory, names);
    return names;
  }
}

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);
const signs = /\[[^\]/]*\]|[?*+@!]?\([^)]*\)|[*?[\]()^#~]+/;

interface Sight {
  readonly at: string;
  /** `null`: it is taken away. */
  readonly stat: Stats | null;
}

function lookAt(file: string): Sight | null {
  try {
    return { at: file, stat: lstatSync(file) };
  } catch {
    return null;
  }
}

/** A name of the workspace by another way. */
function realOf(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}

function listOf(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
