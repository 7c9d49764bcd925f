/**
 * Writers append to files as fast as they can while these are replaced or removed. Every line is
 * one of a kind, so that a lost one is found.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  AtomicRenames,
  type RenameRequest,
  type RenameResult,
} from '../../src/workspace/commit/atomic-renames.ts';
import { statKey } from '../../src/workspace/stat.ts';

const writer = String.raw`
use strict; use warnings; use Fcntl;
my ($files, $stop, $log, $id) = @ARGV; my ($n, $parent) = (0, getppid()); my @done;
$| = 1; print "ready\n";
while ($n & 255 || !-e $stop && getppid() == $parent) {
  my ($name, $line) = ("f" . int(rand($files)), "w-$id-" . $n++);
  sysopen(my $file, $name, O_WRONLY | O_APPEND) or next;
  syswrite($file, "$line\n"); close $file; push @done, $line;
}
open(my $out, ">", $log) or die; print $out map { "$_\n" } @done; close $out or die;
`;

export interface Race {
  readonly kind: RenameRequest['kind'];
  readonly files: number;
  readonly writers: number;
  /** Renames to ask for, at least. */
  readonly attempts: number;
}

export interface Raced {
  readonly answers: Readonly<Record<RenameResult, number>>;
  readonly writes: number;
  /** Lines that are nowhere: neither in a file nor in what was replaced knowingly. */
  readonly lost: readonly string[];
  /** Files that hold what was written too late. */
  readonly late: number;
  /** Names that nobody but the renames made and that should be gone. */
  readonly left: readonly string[];
}

/** Runs one race to its end in a directory of its own. */
export async function race({ kind, files, writers, attempts }: Race): Promise<Raced> {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-race-'));
  const [dir, stop] = [path.join(base, 'd'), path.join(base, 'stop')];
  mkdirSync(dir);
  const children: ChildProcess[] = [];
  const logs = Array.from({ length: writers }, (_, at) => path.join(base, `log-${at}`));
  try {
    using racing = new Racing(dir, kind);
    for (const [at, log] of logs.entries()) {
      const args = ['-e', writer, String(files), stop, log, String(at)];
      const child = spawn('perl', args, { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });
      children.push(child);
      await once(child.stdout, 'data');
    }
    while (racing.attempts < attempts) await racing.round(files);
    writeFileSync(stop, '');
    for (const child of children) await ended(child);
    await racing.close();
    const written = logs.flatMap((log) => linesOf(readFileSync(log, 'utf8')));
    return racing.result(written);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    rmSync(base, { recursive: true });
  }
}

class Racing implements Disposable {
  attempts = 0;
  readonly #dir: string;
  readonly #directory: number;
  readonly #kind: RenameRequest['kind'];
  readonly #answers = { done: 0, changed: 0, open: 0, kept: 0, refused: 0, elsewhere: 0 };
  readonly #replaced: string[] = [];
  readonly #renames = new AtomicRenames(() => {
    this.#late += 1;
  });
  #late = 0;
  #count = 0;

  constructor(dir: string, kind: RenameRequest['kind']) {
    this.#dir = dir;
    this.#kind = kind;
    this.#directory = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  }

  async round(files: number): Promise<void> {
    const asked = Array.from({ length: files }, (_, at) => this.#ask(`f${at}`)).filter(
      (one) => one !== null,
    );
    const answers = await this.#renames.run(asked.map(({ rename }) => rename));
    for (const [at, { rename, text }] of asked.entries()) {
      const answer = answers[at] ?? 'refused';
      this.#answers[answer] += 1;
      if (answer === 'done') this.#replaced.push(text);
      if (answer === 'changed' || answer === 'open') {
        rmSync(this.#at(rename.temporary), { force: true });
      }
    }
    this.attempts += asked.length;
  }

  /** Ends the renames, which keep what came late. */
  close(): Promise<void> {
    return this.#renames.close();
  }

  result(written: readonly string[]): Raced {
    const names = readdirSync(this.#dir);
    const texts = names.map((name) => readFileSync(this.#at(name), 'utf8'));
    const present = new Set([...texts, ...this.#replaced].flatMap(linesOf));
    return {
      answers: this.#answers,
      writes: written.length,
      lost: written.filter((line) => !present.has(line)),
      late: this.#late,
      left: names.filter((name) => !/^(?:f|kept-)\d+$/.test(name)),
    };
  }

  [Symbol.dispose](): void {
    this.#renames[Symbol.dispose]();
    closeSync(this.#directory);
  }

  #ask(name: string): { readonly rename: RenameRequest; readonly text: string } | null {
    const key = this.#key(name);
    if (key === null) {
      writeFileSync(this.#at(name), '', { flag: 'wx' });
      return null;
    }
    const text = readFileSync(this.#at(name), 'utf8');
    if (this.#key(name) !== key) return null;
    this.#count += 1;
    const [temporary, kept] = [`temporary-${this.#count}`, `kept-${this.#count}`];
    if (this.#kind === 'exchange') writeFileSync(this.#at(temporary), '');
    const names = { name, temporary, fallbackName: kept };
    const kind = this.#kind;
    return { rename: { kind, directory: this.#directory, staging: null, ...names, key }, text };
  }

  #key(name: string): string | null {
    const stat = lstatSync(this.#at(name), { bigint: true, throwIfNoEntry: false });
    return stat === undefined ? null : statKey(stat);
  }

  #at(name: string): string {
    return path.join(this.#dir, name);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
