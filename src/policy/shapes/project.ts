/**
 * Files of a project that redirect a command of a known shape, or make it run other programs. A
 * session's commands write these files without approval, so a lasting approval is valid only if
 * there are none. Reads the host's file system.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fieldOf } from '../../json-shape.ts';
import { isPathInside } from '../path-containment.ts';
import type { ShapeGrammar } from './grammar.ts';

export interface ProjectScope {
  readonly root: string;
  readonly cwd: string;
  /** Whether commands see something else at a path than the host: a change that waits. */
  readonly isElsewhere: (file: string) => boolean;
}

/** The most that is read of one file. */
const bytesMax = 64 * 1024 * 1024;

/**
 * The part of a project that a rule binds, as text; `null`: a file redirects the command, or that
 * is unknown.
 */
export function fingerprintProject(kind: ShapeGrammar['project'], at: ProjectScope): string | null {
  if (!isPathInside(at.cwd, at.root)) return null;
  const look = lookAt(at);
  try {
    switch (kind) {
      case null:
        return '';
      case 'npm':
        return ways(at).every((one) => isPlainNpm(one, look)) ? '' : null;
      case 'git':
        return gitOf(at.root, look);
    }
  } catch {
    // An unreadable file may contain anything.
    return null;
  }
}

/** From the directory up to the root. */
function ways({ root, cwd }: ProjectScope): string[] {
  const found = [cwd];
  for (let at = cwd; at !== root; at = path.dirname(at)) found.push(path.dirname(at));
  return found;
}

interface ProjectFiles {
  readonly isThere: (file: string) => boolean;
  /** `null`: there is none. */
  readonly textOf: (file: string) => string | null;
  readonly namesIn: (directory: string) => readonly string[];
}

/** Each throws for what cannot be read as commands see it. */
function lookAt({ isElsewhere }: ProjectScope): ProjectFiles {
  const isThere = (file: string): boolean => {
    if (isElsewhere(file)) throw new Error('commands see another one');
    return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
  };
  const textOf = (file: string): string | null => {
    if (!isThere(file)) return null;
    const found = lstatSync(file);
    if (!found.isFile() || found.size > bytesMax) throw new Error('it cannot be read');
    return readFileSync(file, 'utf8');
  };
  const namesIn = (directory: string): readonly string[] =>
    isThere(directory) ? readdirSync(directory) : [];
  return { isThere, textOf, namesIn };
}

const npmSteering =
  '.npmrc .pnpmfile.cjs .pnpmfile.mjs pnpm-workspace.yaml package.yaml package.json5 ' +
  'binding.gyp .corepack.env';
const lifecycle =
  'preinstall install postinstall prepublish preprepare prepare postprepare dependencies ' +
  'pnpm:devPreinstall';
const listed = 'dependencies devDependencies optionalDependencies peerDependencies';
/** What the registry resolves: no URL, no path, no git, no other name. */
const fromRegistry = /^[\w.^~<>=| *+-]*$/;
const registries = ['https://registry.npmjs.org/'];
/** `resolved` of npm, `tarball` and `repo` of pnpm. */
const fetched = /"?\b(?:resolved|tarball|repo|registry)"?\s*:\s*"?([^",}\s]*)/g;

/** A directory of the project in the place of a package: what it has to run is the project's. */
const local = /\b(?:file|link|workspace|portal|exec):|"link"\s*:|\bdirectory\s*:/;

function isPlainNpm(directory: string, { isThere, textOf }: ProjectFiles): boolean {
  const names = npmSteering.split(' ').map((name) => path.join(directory, name));
  if (names.some(isThere)) return false;
  const locks = ['package-lock.json', 'npm-shrinkwrap.json', 'pnpm-lock.yaml'];
  const texts = locks.map((name) => textOf(path.join(directory, name)));
  if (texts.some((text) => text !== null && !isLockPlain(text))) return false;
  const text = textOf(path.join(directory, 'package.json'));
  return text === null || isManifestPlain(JSON.parse(text));
}

function isLockPlain(text: string): boolean {
  // Escapes could spell what is looked for in another way.
  if (text.includes('\\')) return false;
  const places = [...text.matchAll(fetched)].map(([, place = '']) => place);
  const urls = text.match(/[a-z+]+:\/\/[^\s"',}]*/g) ?? [];
  const isLed = places.every((one) => one === '' || registries.some((all) => one.startsWith(all)));
  return isLed && !local.test(text) && !urls.some((one) => /^(?:git|ssh|file)/.test(one));
}

function isManifestPlain(manifest: unknown): boolean {
  if (!isObject(manifest)) return false;
  const led = ['workspaces', 'packageManager', 'devEngines', 'pnpm', 'overrides', 'resolutions'];
  if (led.some((name) => Object.hasOwn(manifest, name))) return false;
  const scripts: unknown = fieldOf(manifest, 'scripts') ?? {};
  if (!isObject(scripts)) return false;
  if (lifecycle.split(' ').some((name) => Object.hasOwn(scripts, name))) return false;
  return listed.split(' ').every((name) => {
    const all: unknown = fieldOf(manifest, name) ?? {};
    return (
      isObject(all) &&
      Object.values(all).every((one) => typeof one === 'string' && fromRegistry.test(one))
    );
  });
}

/** Sections and keys that say neither what runs nor, but for a remote's URL, where it goes. */
const gitSections = String.raw`\[(?:core|user|remote "[\w-]+"|branch "[\w./-]+")\]`;
const gitNames =
  'repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|' +
  'name|email|url|fetch|remote|merge|rebase|tagopt|prune';
const gitSetting = String.raw`\s+(?:${gitNames})\s*=\s*[\w .:@/+*-]*`;
const gitKeys = new RegExp(String.raw`^(?:\s*|\s*[#;].*|${gitSections}|${gitSetting})$`);
const gitUrl = /^\s+url\s*=(?!\s*https:\/\/[a-z0-9.-]+\/)/m;

/** Where a fetch goes is in its configuration alone: what a rule binds is the digest of that. */
function gitOf(root: string, { isThere, textOf, namesIn }: ProjectFiles): string | null {
  const own = path.join(root, '.git');
  if (!lstatSync(own).isDirectory() || isThere(path.join(root, '.gitmodules'))) return null;
  const led = ['commondir', 'remotes', 'config.worktree', 'objects/info/alternates'];
  if (led.some((name) => isThere(path.join(own, name)))) return null;
  if (!namesIn(path.join(own, 'hooks')).every((name) => name.endsWith('.sample'))) return null;
  if (namesIn(path.join(own, 'branches')).length > 0) return null;
  const text = textOf(path.join(own, 'config'));
  if (text === null || gitUrl.test(text)) return null;
  if (!text.split('\n').every((line) => gitKeys.test(line))) return null;
  return createHash('sha256').update(text).digest('hex');
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
