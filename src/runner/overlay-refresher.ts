/**
 * Makes overlays show what lies in their layers now, without mounting them again.
 *
 * An overlay remembers what it found under a name, and that a name was absent, so it does not see
 * what others change in a layer. Reconfiguring a file system, even with nothing to change, makes
 * the kernel forget all of that which no process is using: some microseconds, whatever is mounted.
 *
 * Node cannot make the calls, so one small perl process serves all sessions; it is started when it
 * is needed and ends after a time without work, or with this process.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeOthersPerl, helperEnvironment } from './enclose.ts';
import type { MountedOverlay } from './overlay.ts';

/** How long the helper waits for more work. */
const idleMs = 30_000;
/** Time for one answer: a refresh waits for nothing but the kernel. */
const answerMs = 5_000;

/**
 * Arguments: NR_SETNS NR_CLOSE. Reads lines `N ROOT` or `N ROOT USER MNT`, paths of descriptors,
 * and answers each with `N ok` or `N` and what failed.
 */
const script = String.raw`
use strict;
my ($nr_setns, $nr_close) = @ARGV;
${closeOthersPerl}
close_all($nr_close, listed(0, 1, 2));
my ($nr_open_tree, $nr_fsconfig, $nr_fspick) = (428, 431, 433);
my ($empty, $cloexec, $reconfigure) = ("", 0x80000, 7);
$| = 1;
sub reconfigure {
  my ($root) = @_;
  my $context = syscall($nr_fspick, $root, $empty, 1 | 8);
  return "pick: $!" if $context < 0;
  my $done = syscall($nr_fsconfig, $context, $reconfigure, 0, 0, 0);
  my $why = "reconfigure: $!";
  syscall($nr_close, $context);
  return $done == 0 ? "ok" : $why;
}
# In namespaces that have the right; there is no way back out of them, so a child goes.
sub inside {
  my ($root, @namespaces) = @_;
  pipe(my $out, my $in) or return "pipe: $!";
  my $pid = fork() // return "fork: $!";
  if (!$pid) {
    my $said = enter(@namespaces) // reconfigure($root);
    syswrite($in, $said);
    exit 0;
  }
  close $in;
  sysread($out, my $said, 4096);
  waitpid($pid, 0);
  return $said || "the helper ended";
}
sub enter {
  my @open;
  for (@_) { open(my $file, "<", $_) or return "open: $!"; push @open, $file }
  for (@open) { syscall($nr_setns, fileno($_), 0) == 0 or return "enter: $!" }
  return undef;
}
while (defined(my $line = <STDIN>)) {
  chomp $line;
  my ($n, $path, @namespaces) = split / /, $line;
  my $root = syscall($nr_open_tree, -100, $path, $cloexec);
  my $said = $root < 0 ? "open: $!"
    : @namespaces ? inside($root, @namespaces) : reconfigure($root);
  syscall($nr_close, $root) if $root >= 0;
  print "$n $said\n";
}
`;

/** System call numbers by Node's name of the architecture: setns, close. */
const calls: ReadonlyMap<string, readonly number[]> = new Map([
  ['x64', [308, 3]],
  ['arm64', [268, 57]],
]);

interface Pending {
  resolve(): void;
  reject(error: Error): void;
}

export class OverlayRefresher {
  #helper: ChildProcess | null = null;
  readonly #pending = new Map<number, Pending>();
  #idle: NodeJS.Timeout | null = null;
  #n = 0;

  /** Starts the helper, or extends its wait, before a refresh. */
  wake(perl: string): void {
    this.#helper ??= this.#start(perl);
    if (this.#idle === null) this.#idle = setTimeout(() => this.close(), idleMs).unref();
    else this.#idle.refresh();
  }

  /**
   * When it resolves, every later look at a name of `overlay` is at its layers. A directory or file
   * that a process is using, as its directory or opened, stays what it was to all.
   *
   * @throws Error with the message of the kernel or the helper: what is shown may be old
   */
  async refresh(overlay: MountedOverlay, perl: string): Promise<void> {
    this.wake(perl);
    const n = (this.#n += 1);
    const { root, user, mnt } = overlay;
    const fds = user === null ? [root] : [root, user, mnt];
    const answered = new Promise<void>((resolve, reject) => {
      this.#pending.set(n, { resolve, reject });
    });
    const paths = fds.map((fd) => `/proc/${process.pid}/fd/${fd}`);
    this.#helper?.stdin?.write(`${[n, ...paths].join(' ')}\n`);
    const timer = setTimeout(() => this.close(), answerMs);
    try {
      await answered;
    } finally {
      clearTimeout(timer);
    }
    overlay.touch();
  }

  /** Ends the helper; open refreshes fail. It starts again when it is needed. */
  close(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    const helper = this.#helper;
    this.#helper = null;
    helper?.kill('SIGKILL');
    this.#lose('it was ended');
  }

  #start(perl: string): ChildProcess {
    const numbers = (calls.get(process.arch) ?? []).map(String);
    const helper = spawn(perl, ['-e', script, '--', ...numbers], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: helperEnvironment,
      cwd: '/',
    });
    const gone = (why: string): void => {
      if (this.#helper !== helper) return;
      this.#helper = null;
      this.#lose(why);
    };
    helper.once('error', ({ message }) => gone(message));
    helper.once('exit', () => gone('it ended'));
    helper.stdin?.on('error', () => undefined);
    let said = '';
    helper.stdout?.on('data', (bytes: Buffer) => {
      said += bytes.toString('latin1');
      const lines = said.split('\n');
      said = lines.pop() ?? '';
      for (const line of lines) this.#answer(line);
    });
    return helper;
  }

  #answer(line: string): void {
    const [, n = '', text = ''] = /^(\d+) (.*)$/s.exec(line) ?? [];
    const pending = this.#pending.get(Number(n));
    this.#pending.delete(Number(n));
    if (text === 'ok') pending?.resolve();
    else pending?.reject(new Error(`Cannot refresh the overlay: ${text}`));
  }

  #lose(why: string): void {
    for (const pending of this.#pending.values()) {
      pending.reject(new Error(`Cannot refresh the overlay: the helper: ${why}`));
    }
    this.#pending.clear();
  }
}
