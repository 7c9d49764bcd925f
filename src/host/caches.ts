/**
 * What programs keep in HOME for a later time: on disk, by project, for sessions that may see and
 * write the same. HOME itself is private to each session, and so is what programs write there
 * besides: `~/.npmrc`, `~/.docker/config.json`, `~/.config/gh`.
 *
 *   <directory>/<id>/project.json       whose it is; its time says when it was last used
 *   <directory>/<id>/home/.npm, …       bound at HOME
 */
import { execFile } from 'node:child_process';
import { closeSync, constants, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { SessionId } from '../command.ts';
import type { SessionRecord } from '../session/record.ts';
import { cacheOf } from '../session/cache.ts';
import { below, O_PATH, openOrNull } from '../workspace/descriptor.ts';
import type { CacheFacts, CachedTree, HomeCaches } from './port.ts';

/** Relative to HOME; each with who writes it. */
const cachedNames = [
  '.cache', // pip, go build, ccache, yarn, uv, playwright: the XDG base directory
  '.npm',
  '.cargo',
  'go',
  '.m2',
  '.gradle',
  '.local/share/pnpm',
  '.rustup',
];

/** Where programs put what lets them in somewhere. It ends with the last session. */
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
const { O_DIRECTORY, O_NOFOLLOW } = constants;

export interface CachesOptions {
  readonly directory: string;
  /** As commands see it. */
  readonly home: string;
  /** Directories besides those of known programs, relative to HOME. */
  readonly also: readonly string[];
  /** Bytes of one project; with more, all of it is cleared when nothing works there. */
  readonly bytesMax: number;
  readonly log: (text: string) => void;
}

export class Caches implements HomeCaches {
  readonly #options: CachesOptions;
  readonly #names: readonly string[];
  readonly #live = new Map<string, Set<SessionId>>();
  readonly #measured = new Map<string, number>();

  constructor(options: CachesOptions) {
    this.#options = options;
    this.#names = [...new Set([...cachedNames, ...options.also])];
  }

  trees(record: SessionRecord): readonly CachedTree[] {
    const id = cacheOf(record);
    if (id === null) return [];
    const { directory, home } = this.#options;
    const own = path.join(directory, id, 'home');
    for (const name of this.#names) {
      mkdirSync(path.join(own, name), { recursive: true, mode: 0o700 });
    }
    const facts = { root: record.workspace };
    writeFileSync(path.join(directory, id, 'project.json'), JSON.stringify(facts), { mode: 0o600 });
    const live = this.#live.get(id) ?? new Set();
    if (live.size === 0) this.#endPrivate(own);
    this.#live.set(id, live.add(record.id));
    const { uid, gid } = statSync(own);
    return this.#names.map((name) => ({
      tree: own,
      source: path.join(own, name),
      target: path.join(home, name),
      uid,
      gid,
    }));
  }

  async leave(record: SessionRecord): Promise<void> {
    const id = cacheOf(record);
    const live = id === null ? undefined : this.#live.get(id);
    if (id === null || live === undefined || !live.delete(record.id) || live.size > 0) return;
    this.#live.delete(id);
    this.#endPrivate(path.join(this.#options.directory, id, 'home'));
    const since = Date.now() - (this.#measured.get(id) ?? 0);
    if (since < measureMs) return;
    this.#measured.set(id, Date.now());
    const { bytesMax, log } = this.#options;
    const bytes = await this.#bytesOf(id);
    if (bytes <= bytesMax || this.#live.has(id)) return;
    log(`the caches of "${record.workspace}" are cleared: ${bytes} bytes, ${bytesMax} are let`);
    await this.#clear(id);
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

  async clear(id: string): Promise<void> {
    if (this.#ids().includes(id)) await this.#clear(id);
  }

  /** The directories stay: sandboxes of sessions that wait have them mounted. */
  async #clear(id: string): Promise<void> {
    const own = path.join(this.#options.directory, id, 'home');
    for (const name of this.#names) {
      const place = path.join(own, name);
      const entries = await readdir(place).catch(() => []);
      const gone = entries.map((one) =>
        rm(path.join(place, one), { recursive: true, force: true }),
      );
      await Promise.allSettled(gone);
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
    const own = path.join(this.#options.directory, id, 'home');
    const options = { env: { PATH: '/usr/bin:/bin' }, maxBuffer: 1024 * 1024 };
    // Its exit code is not zero where an entry went away meanwhile.
    const { stdout } = await promisify(execFile)('du', ['-skx', own], options).catch(
      (error: unknown) => ({ stdout: String(Reflect.get(Object(error), 'stdout') ?? '') }),
    );
    return Number.parseInt(stdout, 10) * 1024 || 0;
  }

  /** By descriptors: what a command left in the way as a link leads nowhere. */
  #endPrivate(own: string): void {
    for (const name of [...credentialNames, ...obeyedNames]) {
      const parts = name.split('/');
      const last = parts.pop() ?? '';
      let at = openOrNull(own, O_PATH | O_DIRECTORY | O_NOFOLLOW);
      for (const part of parts) {
        if (at === null) break;
        const next = openOrNull(below(at, part), O_PATH | O_DIRECTORY | O_NOFOLLOW);
        closeSync(at);
        at = next;
      }
      if (at === null) continue;
      try {
        rmSync(below(at, last), { recursive: true, force: true });
      } catch (error) {
        this.#options.log(`a private file in the caches stays: ${String(error)}`);
      } finally {
        closeSync(at);
      }
    }
  }
}
