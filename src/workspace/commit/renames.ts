/**
 * Renames that lose nothing, for which Node has no call: they exchange two names in one step, or
 * move one away, and put everything back where what came out is not what was expected. A program
 * in perl (perl-base is on every Debian) makes the system calls; it starts at the first use.
 *
 * A request is fields that end in NUL: a count, then for each rename
 *   exchange|away DIRECTORY NAME TEMPORARY KEPT KEY
 * The answer is a word for each, on one line.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { StatKey } from '../../change.ts';
import { statKey } from '../stat.ts';
import { below } from '../descriptor.ts';

/**
 * `done`; `changed`: something else stood there, and stands; `open`: somebody has the file open for
 * writing; `kept`: the same as `changed`, and what stood there a moment before is at `kept`.
 */
export type Renamed = 'done' | 'changed' | 'open' | 'kept' | 'refused';

export interface Rename {
  /** `exchange` puts `temporary` in the place of `name`; `away` removes `name`. */
  readonly kind: 'exchange' | 'away';
  /** An open directory. */
  readonly directory: number;
  readonly name: string;
  readonly temporary: string;
  /** A name for what two others made within microseconds. */
  readonly kept: string;
  /** What must stand at `name`. */
  readonly key: StatKey;
}

const idleMs = 30_000;
const perl = '/usr/bin/perl';
const numbers: ReadonlyMap<string, string> = new Map([
  ['x64', '332 316 157'],
  ['arm64', '291 276 167'],
]);

/**
 * A lease on the file, taken before and looked at after, tells whether anybody has it open for
 * writing or was about to open it: what they write must not end up in a file that is gone.
 */
const program = String.raw`
use strict; use warnings; use Fcntl (); use Errno ();
my ($nr_statx, $nr_rename, $nr_prctl, $parent) = map { $_ + 0 } @ARGV;
syscall($nr_prctl, 1, 9, 0, 0, 0);
exit 0 if getppid() != $parent;
$SIG{IO} = "IGNORE"; $| = 1; $/ = "\0"; binmode STDIN; binmode STDOUT;
my $cwd = -100;
sub look {
  my $path = $_[0]; my $buffer = "\0" x 256;
  return if syscall($nr_statx, $cwd, $path, 0x100, 0x7ff, $buffer) != 0;
  my ($mode, $ino, $size, $cs, $cn, $ms, $mn) = unpack("x28 S x2 Q Q x48 q L x4 q L", $buffer);
  my $times = sub { $_[0] . sprintf("%09d", $_[1]) };
  my $thing = join(":", $ino, $mode, $size, $times->($ms, $mn));
  return { ino => $ino, file => ($mode & 0170000) == 0100000, thing => $thing,
    key => $thing . ":" . $times->($cs, $cn) };
}
sub move { my ($from, $to, $flags) = @_; syscall($nr_rename, $cwd, $from, $cwd, $to, $flags) == 0 }
sub lease {
  my ($path, $found) = @_;
  return (1, undef) if !$found->{file};
  # Not to wait, and not through a link: O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC.
  sysopen(my $file, $path, Fcntl::O_RDONLY() | Fcntl::O_NONBLOCK() | Fcntl::O_NOFOLLOW())
    or return (1, undef);
  return (1, $file) if fcntl($file, 1024, 0);
  my $busy = $!{EAGAIN};
  close $file;
  return (!$busy, undef);
}
sub holds { my $file = $_[0]; return !defined $file || (fcntl($file, 1025, 0) || 0) == 0 }
sub back {
  my ($name, $temporary, $kept, $own) = @_;
  my %seen;
  for (1 .. 16) {
    my $out = look($temporary) or return "changed";
    if ($out->{ino} == $own) { unlink $temporary; return "changed" }
    last if $seen{$out->{ino}}++;
    if (!move($temporary, $name, 2)) {
      return "changed" if move($temporary, $name, 1);
    }
  }
  return move($temporary, $kept, 1) ? "kept" : "refused";
}
sub act {
  my ($kind, $name, $temporary, $kept, $key) = @_;
  my $found = look($name);
  return "changed" if !$found || $found->{key} ne $key;
  my ($free, $lease) = lease($name, $found);
  return "open" if !$free;
  my $own = 0;
  if ($kind eq "exchange") { my $new = look($temporary) or return "refused"; $own = $new->{ino} }
  if (!move($name, $temporary, $kind eq "exchange" ? 2 : 1)) {
    return "changed" if $!{ENOENT};
    return $!{EINVAL} || $!{ENOSYS} ? "unsupported" : "refused";
  }
  my $out = look($temporary);
  # The name may lead to another file by now: only here is the lease known to be on the right one.
  my $same = $out && $out->{thing} eq $found->{thing};
  if ($same && (!$lease || held($lease, $out)) && holds($lease)) {
    unlink $temporary;
    return "done";
  }
  return back($name, $temporary, $kept, $own) if $kind eq "exchange";
  return "changed" if move($temporary, $name, 1);
  return move($temporary, $kept, 1) ? "kept" : "refused";
}
sub held { my ($file, $out) = @_; return (stat $file)[1] == $out->{ino} }
sub field { my $text = <STDIN>; exit 0 if !defined $text; chomp $text; return $text }
while (1) {
  my $count = field();
  my @answers;
  for (1 .. $count) {
    my ($kind, $directory, $name, $temporary, $kept, $key) = map { field() } 1 .. 6;
    my @paths = map { "$directory/$_" } $name, $temporary, $kept;
    push @answers, act($kind, @paths, $key);
  }
  print join(" ", @answers), "\n";
}
`;

type Child = ChildProcessByStdio<Writable, Readable, null>;
type Answers = readonly string[] | 'missing' | 'ended';

/** One program for all trees. Without perl, each rename looks first and leaves a moment between. */
export class AtomicRenames implements Disposable {
  #child: Child | null = null;
  #isMissing = !numbers.has(process.arch);
  #waiting: ((answers: Answers) => void)[] = [];
  #text = '';
  #idle: NodeJS.Timeout | null = null;

  /** Carries out in order. Never throws; `refused` where the system refuses. */
  async run(renames: readonly Rename[]): Promise<Renamed[]> {
    const answers = renames.length === 0 ? [] : await this.#ask(renames);
    if (answers === 'ended') return renames.map(() => 'refused');
    return renames.map((one, at) => {
      const answer = answers === 'missing' ? 'unsupported' : (answers[at] ?? 'refused');
      return isRenamed(answer) ? answer : lookThenRename(one);
    });
  }

  [Symbol.dispose](): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#child?.stdin.end();
    this.#child = null;
  }

  #ask(renames: readonly Rename[]): Promise<Answers> {
    const child = this.#start();
    if (child === null) return Promise.resolve('missing');
    const fields = renames.flatMap(({ kind, directory, name, temporary, kept, key }) => {
      const place = `/proc/${process.pid}/fd/${directory}`;
      return [kind, place, name, temporary, kept, key];
    });
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
    const args = ['-e', program, ...(numbers.get(process.arch) ?? '').split(' ')];
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
    for (const line of lines) this.#waiting.shift()?.(line.split(' '));
    if (this.#waiting.length > 0) return;
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

function isRenamed(answer: string): answer is Renamed {
  return ['done', 'changed', 'open', 'kept', 'refused'].includes(answer);
}

/** What somebody else does between the look and the rename, some microseconds, is lost. */
function lookThenRename({ kind, directory, name, temporary, key }: Rename): Renamed {
  const at = below(directory, name);
  try {
    const stat = lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined || statKey(stat) !== key) return 'changed';
    if (kind === 'exchange') renameSync(below(directory, temporary), at);
    else unlinkSync(at);
    return 'done';
  } catch {
    return 'refused';
  }
}
