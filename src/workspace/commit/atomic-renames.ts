/**
 * Renames that lose nothing, for which Node has no call: they exchange two names in one step, or
 * move one away, and put everything back where what came out is not what was expected. A program
 * in perl makes the system calls (`renaming-program.ts`); it starts at the first use.
 *
 * A request is fields that end in NUL: a count, then for each rename
 *   exchange|away|name|fill|write|sync|plain|fits DIRECTORY STAGING NAME TEMPORARY KEPT KEY
 * The answer is a word for each, on one line. `late HEX` on a line of its own may come at any time.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  unlinkSync,
} from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { StatKey } from '../../change.ts';
import { openDirectory } from '../beneath.ts';
import { entryPathIn } from '../byte-path.ts';
import { statKey } from '../stat.ts';
import { renameScript } from './rename-script.ts';

/**
 * `done`; `changed`: something else stood there, and stands; `open`: somebody has the file open for
 * writing; `kept`: the same as `changed`, and what stood there a moment before is at `kept`.
 * `elsewhere`: nothing was done, as it cannot be made in another directory.
 */
export type RenameResult = (typeof answers)[number];
const answers = ['done', 'changed', 'open', 'kept', 'refused', 'elsewhere'] as const;

export interface RenameRequest {
  /**
   * `exchange` swaps `temporary` and `name`; `away` removes `name`; `name` renames `temporary` to
   * `name`, if that is free; `fill` copies the content of `temporary` into the file at `name`,
   * while nobody else has it open; `write` starts writing `name` to the disk, `sync` writes its
   * whole file system; `plain` starts writing the files of a directory that changed since `key`
   * (Unix seconds, a blank, and the name of an attribute), and answers whether none has extended
   * attributes, and the directory no other; `fits` answers whether an entry that is moved into
   * `directory` is as if it had been created there.
   */
  readonly kind: 'exchange' | 'away' | 'name' | 'fill' | 'write' | 'sync' | 'plain' | 'fits';
  /** An open directory. */
  readonly directory: number;
  /** The open directory of `temporary`; `null`: the same. */
  readonly staging: number | null;
  readonly name: string;
  readonly temporary: string;
  /** A name for what two others made within microseconds. */
  readonly fallbackName: string;
  /** What must stand at `name`. */
  readonly key: StatKey;
}

const idleMs = 30_000;
const perl = '/usr/bin/perl';
const numbers: ReadonlyMap<string, string> = new Map([
  ['x64', '332 316 157 191 277 196 306'],
  ['arm64', '291 276 167 8 84 13 267'],
]);

type Child = ChildProcessByStdio<Writable, Readable, null>;
type Answers = readonly string[] | 'missing' | 'ended';

/** One program for all trees. Without perl, each rename looks first and leaves a moment between. */
export class AtomicRenames implements Disposable {
  #child: Child | null = null;
  #isMissing = !numbers.has(process.arch);
  #waiting: ((answers: Answers) => void)[] = [];
  #text = '';
  #idle: NodeJS.Timeout | null = null;
  readonly #onLate: (at: Buffer) => void;
  /** A private directory for what has a temporary name; `null`: the tree itself. */
  readonly staging: string | null;

  /**
   * @param onLate called, after `done`, with a file that contains late writes to a replaced file:
   *   the writer had looked its name up before. Must not throw.
   */
  constructor(
    onLate: (at: Buffer) => void = () => undefined,
    options: { readonly staging?: string } = {},
  ) {
    this.#onLate = onLate;
    this.staging = options.staging ?? null;
  }

  /** Carries out in order. Never throws; `refused` where the system refuses. */
  async run(renames: readonly RenameRequest[]): Promise<RenameResult[]> {
    const replies = renames.length === 0 ? [] : await this.#ask(renames);
    if (replies === 'ended') return renames.map(() => 'refused');
    return renames.map((one, at) => {
      const answer = replies === 'missing' ? 'unsupported' : (replies[at] ?? 'refused');
      return isRenamed(answer) ? answer : lookThenRename(one);
    });
  }

  [Symbol.dispose](): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#child?.stdin.end();
    this.#child = null;
  }

  /** Ends, after late writes are saved. */
  async close(): Promise<void> {
    const child = this.#child;
    this[Symbol.dispose]();
    if (child === null) return;
    hold(child, true);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
  }

  #ask(renames: readonly RenameRequest[]): Promise<Answers> {
    const child = this.#start();
    if (child === null) return Promise.resolve('missing');
    const place = (fd: number): string => `/proc/${process.pid}/fd/${fd}`;
    const fields = renames.flatMap(
      ({ kind, directory, staging, name, temporary, fallbackName: kept, key }) => {
        return [kind, place(directory), place(staging ?? directory), name, temporary, kept, key];
      },
    );
    const request = [String(renames.length), ...fields, ''].join('\0');
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // While an answer is awaited, this process must not end.
      hold(child, true);
      child.stdin.write(Buffer.from(request, 'latin1'));
    });
  }

  #start(): Child | null {
    if (this.#idle !== null) clearTimeout(this.#idle);
    if (this.#child !== null || this.#isMissing) return this.#child;
    const args = ['-e', renameScript, ...(numbers.get(process.arch) ?? '').split(' ')];
    const child = spawn(perl, [...args, String(process.pid)], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: { PATH: '/usr/bin:/bin' },
      cwd: '/',
    });
    const ended = (isMissing: boolean): void => {
      if (this.#child === child) this.#child = null;
      this.#isMissing ||= isMissing;
      this.#text = '';
      for (const answer of this.#waiting.splice(0)) answer(isMissing ? 'missing' : 'ended');
    };
    child.on('error', () => {
      ended(true);
    });
    child.on('close', () => {
      ended(false);
    });
    child.stdin.on('error', () => undefined);
    child.stdout.on('data', (chunk: Buffer) => {
      this.#take(child, chunk.toString('latin1'));
    });
    this.#child = child;
    return child;
  }

  #take(child: Child, text: string): void {
    const lines = (this.#text + text).split('\n');
    this.#text = lines.pop() ?? '';
    for (const line of lines) {
      const words = line.split(' ');
      if (words[0] === 'late') this.#onLate(Buffer.from(words[1] ?? '', 'hex'));
      else this.#waiting.shift()?.(words);
    }
    if (this.#waiting.length > 0 || this.#child !== child) return;
    if (this.#idle !== null) clearTimeout(this.#idle);
    hold(child, false);
    this.#idle = setTimeout(() => {
      this[Symbol.dispose]();
    }, idleMs).unref();
  }
}

function hold(child: Child, isHeld: boolean): void {
  for (const one of [child, child.stdin, child.stdout]) {
    if (!(one instanceof Socket) && one !== child) continue;
    if (isHeld) one.ref();
    else one.unref();
  }
}

function isRenamed(answer: string): answer is RenameResult {
  return answers.some((one) => one === answer);
}

/** Another process's change between the check and the rename, some microseconds, is lost. */
function lookThenRename({
  kind,
  directory,
  staging,
  name,
  temporary,
  key,
}: RenameRequest): RenameResult {
  if (kind === 'write') return 'done';
  if (staging !== null || !['exchange', 'away'].includes(kind)) return 'elsewhere';
  const at = entryPathIn(directory, name);
  try {
    const stat = lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined || statKey(stat) !== key) return 'changed';
    if (kind === 'exchange') {
      writeOut(entryPathIn(directory, temporary));
      renameSync(entryPathIn(directory, temporary), at);
    } else unlinkSync(at);
    return 'done';
  } catch {
    return 'refused';
  }
}

/** So that a power cut leaves no empty file in the place of an old one. */
function writeOut(at: Buffer): void {
  if (!lstatSync(at).isFile()) return;
  const fd = openSync(at, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    fdatasyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

// A private directory beside the tree, on the same mount: new contents are created and displaced
// ones wait there, so that watchers of the tree see no temporary name.

/**
 * Opens it, and makes it where it is missing; `null` where names cannot be moved from it to the
 * tree. The caller closes it.
 */
export function openStaging(directory: string | null, tree: string): number | null {
  if (directory === null) return null;
  let staging: number | null = null;
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    staging = openDirectory(realpathSync(directory));
    const root = openDirectory(tree);
    try {
      if (mountOf(staging) === mountOf(root)) return staging;
    } finally {
      closeSync(root);
    }
  } catch {
    // As without one.
  }
  if (staging !== null) closeSync(staging);
  return null;
}

/** Equal for descriptors between which names can be moved, if the kernel shows that in advance. */
function mountOf(fd: number): string {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
  return `${fstatSync(fd).dev} ${/^mnt_id:\s*(\d+)/m.exec(info)?.[1] ?? ''}`;
}
