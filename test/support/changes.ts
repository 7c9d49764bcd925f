/** An overlay of one's own, and what a tree looks like, read without the code under test. */
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ContentStore } from '../../src/content-store.ts';

const overlayOptions = 'userxattr,index=off,xino=off';
const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');

/**
 * Writes what stands below `.` to a file: path, what it is in words, content; each with its length
 * before it. Step by step, so that depth does not matter.
 */
const pictureScript = String.raw`
use strict; use Fcntl ":mode";
open my $out, ">", $ARGV[0] or die $!;
sub note { print $out pack("N/a* N/a* N/a*", @_) }
sub walk {
  my ($prefix) = @_;
  opendir(my $d, ".") or die "$prefix: $!";
  my @names = grep { $_ ne "." && $_ ne ".." } readdir $d;
  closedir $d;
  for my $name (@names) {
    my @stat = lstat "./$name" or die "$prefix$name: $!";
    my ($type, $mode) = (S_IFMT($stat[2]), sprintf("%o", S_IMODE($stat[2])));
    if ($type == S_IFREG) {
      open my $f, "<", "./$name" or die "$prefix$name: $!";
      local $/; note("$prefix$name", "file $mode ", scalar(<$f>) // "");
    }
    elsif ($type == S_IFLNK) { note("$prefix$name", "symlink " . readlink("./$name"), "") }
    elsif ($type == S_IFIFO) { note("$prefix$name", "fifo $mode", "") }
    elsif ($type == S_IFSOCK) { note("$prefix$name", "socket $mode", "") }
    elsif ($type != S_IFDIR) { note("$prefix$name", "device $mode", "") }
    else {
      note("$prefix$name", "directory $mode", "");
      chdir "./$name" or die $!; walk("$prefix$name/"); chdir ".." or die $!;
    }
  }
}
note("", "directory " . sprintf("%o", S_IMODE((stat ".")[2])), "");
walk("");
close $out or die $!;
`;

/** A directory of this test's own below the system's, removed at the end whatever is in it. */
export class Yard implements Disposable {
  readonly path: string;

  constructor() {
    this.path = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-changes-')));
  }

  /** A directory in it, made. */
  directory(name: string): string {
    const made = path.join(this.path, name);
    mkdirSync(made, { recursive: true });
    return made;
  }

  [Symbol.dispose](): void {
    // The work directory of an overlay has no mode at all, deep trees are too deep for Node.
    spawnSync('chmod', ['-R', 'u+rwx', this.path], { stdio: 'ignore' });
    spawnSync('rm', ['-rf', this.path]);
  }
}

/** Why no overlay can be mounted here; `false`: it can. */
export function noOverlay(): string | false {
  using yard = new Yard();
  const [real, upper, work, merged] = ['real', 'upper', 'work', 'merged'].map((name) =>
    yard.directory(name),
  );
  const layers = `lowerdir=${real},upperdir=${upper},workdir=${work},${overlayOptions}`;
  const mounted = spawnSync(
    'unshare',
    ['-Urm', 'mount', '-i', '-t', 'overlay', 'overlay', '-o', layers, merged ?? ''],
    { encoding: 'utf8' },
  );
  return mounted.status === 0 ? false : `no overlay can be mounted: ${mounted.stderr.trim()}`;
}

/** Runs shell scripts in a directory, one after the other, by one shell. */
export class Stage implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #script: string;
  /** The tree as scripts see it, for this process. */
  readonly view: string;
  readonly #merged: string;
  #heard = '';
  #wake = (): void => {};
  complaints = '';

  private constructor(yard: Yard, command: string, merged: string, isMounted: boolean) {
    this.#script = path.join(yard.path, 'script');
    this.#merged = merged;
    // A script that waits for ever, as for the other end of a FIFO, is a failure and no hang.
    const once = `timeout -s KILL 30 sh "${this.#script}"`;
    const loop = `cd "${merged}"; echo $?; while read -r _; do ${once}; echo $?; done`;
    const shell = ['sh', '-c', `${command} ${loop}`];
    const [file = 'sh', ...args] = isMounted ? ['unshare', '-Urm', ...shell] : shell;
    this.#child = spawn(file, args, { env: { PATH: process.env['PATH'], LC_ALL: 'C' } });
    this.#child.stdout.on('data', (text: Buffer) => {
      this.#heard += text.toString();
      this.#wake();
    });
    this.#child.stderr.on('data', (text: Buffer) => {
      this.complaints += text.toString();
    });
    this.#child.once('close', () => this.#wake());
    this.view = isMounted ? `/proc/${this.#child.pid}/root${merged}` : merged;
  }

  /** `layers`: lower directories, topmost first. */
  static async overlay(
    yard: Yard,
    layers: readonly string[],
    upper: string,
    work: string,
  ): Promise<Stage> {
    const merged = yard.directory('merged');
    const data = `lowerdir=${layers.join(':')},upperdir=${upper},workdir=${work},${overlayOptions}`;
    const mount = `mount -i -t overlay overlay -o "${data}" "${merged}" || exit 9;`;
    const stage = new Stage(yard, mount, merged, true);
    await stage.#answer();
    return stage;
  }

  /** Scripts run in `tree` itself. */
  static async plain(yard: Yard, tree: string): Promise<Stage> {
    const stage = new Stage(yard, '', tree, false);
    await stage.#answer();
    return stage;
  }

  /** Answers the exit code. What the script says on standard output goes to its standard error. */
  async run(script: string): Promise<number> {
    writeFileSync(this.#script, bytes(`exec >&2\numask 022\n${script}\n`));
    this.#child.stdin.write('go\n');
    return this.#answer();
  }

  /** What scripts see. It is looked at as they look, so no mode keeps it out. */
  async picture(): Promise<Picture> {
    const script = `${this.#script}.pl`;
    const file = `${this.#script}.out`;
    writeFileSync(script, pictureScript);
    const code = await this.run(`perl "${script}" "${file}"`);
    if (code !== 0) throw new Error(`Cannot look at the tree: ${this.complaints}`);
    return readPicture(file);
  }

  /** Makes the overlay see what changed in its layers. */
  async refresh(): Promise<void> {
    const code = await this.run(`mount -i -o remount "${this.#merged}"`);
    if (code !== 0) throw new Error(`Cannot remount: ${this.complaints}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#child.once('close', () => resolve());
    this.#child.stdin.end();
    this.#child.kill('SIGKILL');
    await promise;
  }

  async #answer(): Promise<number> {
    for (;;) {
      const at = this.#heard.indexOf('\n');
      if (at !== -1) {
        const code = Number(this.#heard.slice(0, at));
        this.#heard = this.#heard.slice(at + 1);
        return code;
      }
      if (this.#child.exitCode !== null) throw new Error(`The stage ended: ${this.complaints}`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }
}

/** By path as bytes: type, mode, and hash or target, in words. */
export type Picture = ReadonlyMap<string, string>;

/** What stands in a tree, special files unopened, by plain recursion. */
export function picture(tree: string): Picture {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-picture-'));
  try {
    const file = path.join(directory, 'picture');
    const made = spawnSync('perl', ['-e', pictureScript, file], { cwd: tree, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`Cannot look at ${tree}: ${made.stderr}`);
    return readPicture(file);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function readPicture(file: string): Picture {
  const seen = new Map<string, string>();
  const all = readFileSync(file);
  let at = 0;
  const next = (): Buffer => {
    const length = all.readUInt32BE(at);
    at += 4 + length;
    return all.subarray(at - length, at);
  };
  while (at < all.length) {
    const [name, words, content] = [next().toString('latin1'), next().toString('latin1'), next()];
    seen.set(name, words.startsWith('file') ? `${words}${hash(content)}` : words);
  }
  return seen;
}

/** Path → what it was and what it is, `-` for nothing; only where these differ. */
export function differences(before: Picture, after: Picture): Record<string, string> {
  const found: Record<string, string> = {};
  for (const at of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(at) ?? '-', after.get(at) ?? '-'];
    if (was !== is) found[at] = `${was} -> ${is}`;
  }
  return sorted(found);
}

export function sorted(record: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export function hash(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Contents in memory, those of at most `fileBytesMax`. */
export class MemoryContents implements ContentStore {
  readonly fileBytesMax: number;
  readonly #kept = new Map<string, Buffer>();

  constructor(fileBytesMax = 64 * 1024 * 1024) {
    this.fileBytesMax = fileBytesMax;
  }

  has(sha256: string): boolean {
    return this.#kept.has(sha256);
  }

  put(content: Uint8Array): string {
    const sha256 = hash(content);
    if (content.length <= this.fileBytesMax) this.#kept.set(sha256, Buffer.from(content));
    return sha256;
  }

  async putFile(fd: number): Promise<{ sha256: string; size: number; kept: boolean }> {
    const content = readFileSync(fd);
    const sha256 = this.put(content);
    return { sha256, size: content.length, kept: this.has(sha256) };
  }

  async read(sha256: string): Promise<Buffer | null> {
    return this.#kept.get(sha256) ?? null;
  }
}
