/**
 * What programs keep in HOME for a later time: on disk, by project, for sessions that may see and
 * write the same. HOME itself is private to each session, and so is what programs write there
 * besides: `~/.npmrc`, `~/.docker/config.json`, `~/.config/gh`.
 *
 *   <directory>/<id>/project.json       whose it is; its time says when it was last used
 *   <directory>/<id>/home/.npm, …       bound at HOME
 *   <directory>/<id>/layers/NAME/N      what commands wrote over a shared tree of the host, by the
 *                                       holder that they ran in; NAME is its place with `+` for `/`
 *   <directory>/<id>/use.lock           held by runtimes with sessions of it
 *   <directory>/<id>/gone-…             what was cleared, as long as its removal takes
 *
 * Commands make links there as they please: every way below `home` is by descriptors.
 */
import { execFile } from 'node:child_process';
import {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { fieldOf } from '../json-shape.ts';
import { cacheDirectoriesOf, type CacheTool, type SharedTree } from '../caches.ts';
import type { BytePath } from '../change.ts';
import type { SessionId } from '../command.ts';
import { sessionCacheId } from '../session/cache.ts';
import type { SessionRecord } from '../session/record.ts';
import { bytePathOf, entryPathIn, errnoCodeOf, openOrNull } from '../workspace/byte-path.ts';
import type { WorkspaceFacts } from '../workspace/workspace-survey.ts';
import {
  CacheLocks,
  directoryFlags,
  makeWritable,
  type RemovalFailures,
  removeTree,
  removeTreeSync,
} from './cache-directories.ts';
import type { AllSessions, CacheFacts, HomeCaches } from './port.ts';

/** Where programs put what lets them in somewhere. It ends with the last session, or its work. */
const credentialNames = [
  '.cargo/credentials',
  '.cargo/credentials.toml',
  '.m2/settings.xml',
  '.m2/settings-security.xml',
  '.gradle/gradle.properties',
  '.cache/huggingface/token',
  '.cache/huggingface/stored_tokens',
  '.cache/git/credential',
  '.cache/pypoetry/auth.toml',
];

/** What a later command would obey, which in the project itself is held. It ends likewise. */
const obeyedNames = [
  '.cargo/config',
  '.cargo/config.toml',
  '.gradle/init.gradle',
  '.gradle/init.gradle.kts',
  '.gradle/init.d',
  '.m2/extensions.xml',
  '.m2/toolchains.xml',
];

/** How often what a project has is measured at most, in `ms`. */
const measureMs = 600_000;
/** Without a command for so long, in `ms`, sessions are as good as ended for what is private. */
const privateIdleMs = 900_000;
const gonePrefix = 'gone-';
const layersName = 'layers';

interface HomeCachesOptions {
  readonly directory: string;
  /** As commands see it. */
  readonly home: string;
  /** Directories, relative to HOME; none is inside another. */
  readonly names: readonly string[];
  /** Bytes of one project; with more, all of it is cleared when nothing works there. */
  readonly bytesMax: number;
  readonly log: (text: string) => void;
}

export class LocalHomeCaches implements HomeCaches {
  readonly #options: HomeCachesOptions;
  readonly #live = new Map<string, Set<SessionId>>();
  readonly #measured = new Map<string, number>();
  readonly #use: CacheLocks;
  #source: Pick<AllSessions, 'running' | 'all'> = { running: () => [], all: () => [] };

  constructor(options: HomeCachesOptions) {
    this.#options = options;
    this.#use = new CacheLocks(options.directory);
  }

  attach(source: Pick<AllSessions, 'running' | 'all'>): void {
    this.#source = source;
  }

  trees(
    record: SessionRecord,
    granted: WorkspaceFacts['granted'],
  ): ReturnType<HomeCaches['trees']> {
    const id = sessionCacheId(record);
    if (id === null) return { caches: [], shared: [] };
    const { directory, home, names } = this.#options;
    const own = path.join(directory, id, 'home');
    mkdirSync(own, { recursive: true, mode: 0o700 });
    this.#use.acquire(id);
    for (const name of names) closeSync(openPlace(own, name));
    for (const { path: tree } of granted) this.#makePlace(own, tree);
    const facts = { root: record.workspace };
    writeFileSync(path.join(directory, id, 'project.json'), JSON.stringify(facts), { mode: 0o600 });
    const live = this.#live.get(id) ?? new Set();
    if (live.size === 0) this.#endPrivate(own);
    this.#live.set(id, live.add(record.id));
    const { uid, gid } = statSync(own);
    const caches = names.map((name) => ({
      tree: own,
      source: path.join(own, name),
      target: path.join(home, name),
      uid,
      gid,
    }));
    return { caches, shared: this.#shared(own, record.shareCache ?? [], granted) };
  }

  /** What is granted within a cache is mounted there, where commands may have put a link. */
  #makePlace(own: string, tree: string): void {
    const place = path.relative(this.#options.home, tree);
    if (!this.#options.names.some((name) => place.startsWith(`${name}/`))) return;
    if (statSync(tree, { throwIfNoEntry: false })?.isFile() !== true) {
      closeSync(openPlace(own, place));
      return;
    }
    const above = openPlace(own, path.dirname(place));
    try {
      makeFile(entryPathIn(above, bytePathOf(path.basename(place))));
    } finally {
      closeSync(above);
    }
  }

  #shared(
    within: string,
    tools: readonly CacheTool[],
    granted: WorkspaceFacts['granted'],
  ): readonly SharedTree[] {
    return cacheDirectoriesOf(tools).flatMap((place) => {
      const source = path.join(this.#options.home, place);
      const tree = granted.find((one) => one.path === source);
      if (tree === undefined) return [];
      closeSync(openPlace(within, place));
      const layers = path.join(path.dirname(within), layersName, place.replaceAll('/', '+'));
      mkdirSync(layers, { recursive: true, mode: 0o700 });
      return [{ source, uid: tree.uid, gid: tree.gid, within, place, layers }];
    });
  }

  async leave(record: SessionRecord): Promise<void> {
    const id = sessionCacheId(record);
    if (id === null) return;
    const live = this.#live.get(id);
    const isLast = live?.delete(record.id) === true && live.size === 0;
    if (isLast) {
      this.#live.delete(id);
      this.#use.release(id);
    }
    const hasOthers = this.#sessionsOf(id).some((other) => other.id !== record.id);
    if (!hasOthers) this.#freeLayers(id);
    if (!isLast) return;
    this.#endPrivate(path.join(this.#options.directory, id, 'home'));
    const since = Date.now() - (this.#measured.get(id) ?? 0);
    if (since < measureMs) return;
    this.#measured.set(id, Date.now());
    const { bytesMax, log } = this.#options;
    const bytes = await this.#bytesOf(id);
    if (bytes <= bytesMax || this.#isUsed(id)) return;
    log(`the caches of "${record.workspace}" are cleared: ${bytes} bytes, ${bytesMax} are let`);
    const { count, why } = (await this.clear(id)) ?? { count: 0, why: null };
    if (count > 0) log(`${count} entries of them could not be removed: ${why ?? ''}`);
  }

  /** Also by what an earlier daemon started. */
  #isUsed(id: string): boolean {
    const isRunning = (one: SessionRecord): boolean => this.#source.running(one.id).length > 0;
    return this.#live.has(id) || this.#sessionsOf(id).some(isRunning);
  }

  #sessionsOf(id: string): readonly SessionRecord[] {
    return this.#source.all().filter((one) => sessionCacheId(one) === id);
  }

  /** Nothing has them mounted any more: later holders write to them, one each. */
  #freeLayers(id: string): void {
    const all = path.join(this.#options.directory, id, layersName);
    const layers = entriesOf(all).flatMap((name) =>
      entriesOf(path.join(all, name)).map((layer) => path.join(all, name, layer)),
    );
    if (layers.length === 0) return;
    this.#use.runExclusive(id, () => {
      for (const own of layers) writeFileSync(path.join(own, 'free'), '', { mode: 0o600 });
    });
  }

  endIdle(now: number): void {
    for (const id of this.#live.keys()) {
      const all = this.#sessionsOf(id);
      const isIdle = all.every(({ id: session, lastActivity }) => {
        return now - lastActivity >= privateIdleMs && this.#source.running(session).length === 0;
      });
      if (isIdle) this.#endPrivate(path.join(this.#options.directory, id, 'home'));
    }
  }

  recover(sessions: readonly SessionRecord[]): void {
    const used = new Set(sessions.map((one) => sessionCacheId(one)));
    for (const id of this.#ids().filter((one) => !used.has(one))) {
      this.#endPrivate(path.join(this.#options.directory, id, 'home'));
    }
  }

  async list(): Promise<readonly CacheFacts[]> {
    const found = this.#ids().map(async (id): Promise<CacheFacts[]> => {
      const file = path.join(this.#options.directory, id, 'project.json');
      try {
        const { root }: { root: string } = JSON.parse(readFileSync(file, 'utf8'));
        return [{ id, root, bytes: await this.#bytesOf(id), usedAt: statSync(file).mtimeMs }];
      } catch {
        // One that is being made, or was left half-removed.
        return [];
      }
    });
    return (await Promise.all(found)).flat();
  }

  async clear(id: string): Promise<RemovalFailures | null> {
    if (!this.#ids().includes(id)) return { count: 0, why: null };
    // At once, so that a command that starts meanwhile has all of it or nothing.
    const aside = this.#use.runExclusive(id, () => this.#setAside(id));
    if (aside === null) return null;
    const gone = await this.#removeGone(id);
    return { count: aside.count + gone.count, why: aside.why ?? gone.why };
  }

  /** The directories stay: sandboxes of sessions that wait have them mounted. */
  #setAside(id: string): RemovalFailures {
    const place = path.join(this.#options.directory, id);
    const to = openOrNull(mkdtempSync(path.join(place, gonePrefix)), directoryFlags);
    if (to === null) return { count: 0, why: null };
    const homes = this.#options.names.map((name) => openPlace(path.join(place, 'home'), name));
    // No session has layers of it: a session that needs some creates them again.
    const layers = openOrNull(path.join(place, layersName), directoryFlags);
    let [count, moved]: [number, number] = [0, 0];
    let why: string | null = null;
    for (const from of layers === null ? homes : [...homes, layers]) {
      for (const entry of readdirSync(`/proc/self/fd/${from}`, 'latin1')) {
        moved += 1;
        try {
          moveInto(to, String(moved), { from, entry });
        } catch (error) {
          count += 1;
          why ??= error instanceof Error ? error.message : String(error);
        }
      }
      closeSync(from);
    }
    closeSync(to);
    return { count, why };
  }

  /** Also what an earlier removal left. */
  async #removeGone(id: string): Promise<RemovalFailures> {
    const place = openOrNull(path.join(this.#options.directory, id), directoryFlags);
    if (place === null) return { count: 0, why: null };
    try {
      const all = readdirSync(`/proc/self/fd/${place}`, 'latin1');
      let [count, why]: [number, string | null] = [0, null];
      for (const name of all.filter((one) => one.startsWith(gonePrefix))) {
        const left = await removeTree(place, name);
        [count, why] = [count + left.count, why ?? left.why];
      }
      return { count, why };
    } finally {
      closeSync(place);
    }
  }

  #ids(): string[] {
    try {
      return readdirSync(this.#options.directory).filter((name) => /^[0-9a-f]{32}$/.test(name));
    } catch {
      return [];
    }
  }

  async #bytesOf(id: string): Promise<number> {
    const own = ['home', layersName].map((name) => path.join(this.#options.directory, id, name));
    const options = { env: { PATH: '/usr/bin:/bin' }, maxBuffer: 1024 * 1024 };
    // Its exit code is not zero where an entry went away meanwhile.
    const { stdout } = await promisify(execFile)('du', ['-sckx', ...own], options).catch(
      (error: unknown) => {
        const stdout = fieldOf(error, 'stdout');
        return { stdout: typeof stdout === 'string' ? stdout : '' };
      },
    );
    return Number(/(\d+)\ttotal\n$/.exec(stdout)?.[1] ?? 0) * 1024;
  }

  #endPrivate(own: string): void {
    for (const name of [...credentialNames, ...obeyedNames]) {
      const parts = name.split('/');
      const last = parts.pop() ?? '';
      const at = openParts(own, parts);
      if (at === null) continue;
      makeWritable(at);
      const { count, why } = removeTreeSync(at, last);
      closeSync(at);
      if (count > 0) this.#options.log(`a private file in the caches stays: ${why ?? name}`);
    }
  }
}

function entriesOf(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function openParts(own: string, parts: readonly string[]): number | null {
  let at = openOrNull(own, directoryFlags);
  for (const part of parts) {
    if (at === null) return null;
    const next = openOrNull(entryPathIn(at, bytePathOf(part)), directoryFlags);
    closeSync(at);
    at = next;
  }
  return at;
}

/** Opens a directory of the caches; made where something else, or nothing, is there. */
function openPlace(own: string, name: string): number {
  const parts = name.split('/');
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const found = openParts(own, parts.slice(0, depth));
    if (found !== null && depth === parts.length) return found;
    if (found !== null) {
      closeSync(found);
      continue;
    }
    const above = openParts(own, parts.slice(0, depth - 1));
    if (above === null) break;
    try {
      const at = entryPathIn(above, bytePathOf(parts[depth - 1] ?? ''));
      removeFile(at);
      mkdirSync(at, { mode: 0o700 });
    } finally {
      closeSync(above);
    }
  }
  const made = openParts(own, parts);
  if (made === null) throw new Error(`Cannot open the cache "${name}" in "${own}"`);
  return made;
}

/** An empty file, where none is. */
function makeFile(at: Buffer): void {
  if (lstatSync(at, { throwIfNoEntry: false })?.isFile() === true) return;
  removeFile(at);
  closeSync(openSync(at, 'wx', 0o600));
}

function removeFile(at: Buffer): void {
  try {
    unlinkSync(at);
  } catch (error) {
    if (errnoCodeOf(error) !== 'ENOENT') throw error;
  }
}

/** A directory that its owner may not write cannot be moved. */
function moveInto(
  to: number,
  name: string,
  { from, entry }: { readonly from: number; readonly entry: BytePath },
): void {
  const inside = openOrNull(entryPathIn(from, entry), directoryFlags);
  if (inside !== null) {
    makeWritable(inside);
    closeSync(inside);
  }
  renameSync(entryPathIn(from, entry), entryPathIn(to, name));
}
