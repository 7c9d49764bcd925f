/**
 * Reads what an overlay's layers encode in extended attributes and whiteouts, through a small
 * helper.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { pathText } from '../byte-path.ts';

/** `opaque`: hides the lower layers. `copied`: comes from a lower layer. */
export type LayerQuery = 'opaque' | 'copied';

interface LayerAttributesOptions {
  /** Default `/usr/bin/perl`. */
  readonly perl?: string;
  /** How long an idle helper stays. Default 10,000. */
  readonly idleMs?: number;
}

type Ask = 'o' | 'c' | 'w' | 'm' | 'u' | 'f';

interface Batch {
  readonly count: number;
  readonly answers: string[];
  resolve(answers: readonly string[]): void;
  reject(error: Error): void;
}

const letters = { opaque: 'o', copied: 'c' } as const;
const asksOfBatch = 4_096;
const accessDenied = '!13';
/** Only removing meets it: then there is nothing to do. */
const noSuchAttribute = '!61';

/**
 * The helper starts with the first ask and ends when it is idle, closed, or this process ends.
 * Paths are absolute, as bytes. All methods reject with a TrlError `SANDBOX_UNAVAILABLE` where the
 * helper cannot run.
 */
export class LayerAttributes implements Disposable {
  readonly #perl: string;
  readonly #idleMs: number;
  #child: ChildProcessWithoutNullStreams | null = null;
  #batches: Batch[] = [];
  #rest = '';
  #idle: NodeJS.Timeout | undefined;

  constructor(options: LayerAttributesOptions = {}) {
    this.#perl = options.perl ?? '/usr/bin/perl';
    this.#idleMs = options.idleMs ?? 10_000;
  }

  /** One answer a path; `null`: this process may not look. What is missing is neither. */
  async read(
    asked: readonly { readonly path: BytePath; readonly question: LayerQuery }[],
  ): Promise<(boolean | null)[]> {
    const said = await this.#ask(asked.map((one) => `${letters[one.question]}${one.path}`));
    return said.map((answer) => (answer === accessDenied ? null : answer === 'y'));
  }

  /** Makes whiteouts where nothing is. @throws TrlError INTERNAL_ERROR where one failed */
  async makeWhiteouts(paths: readonly BytePath[]): Promise<void> {
    await this.#do('w', paths, 'make a whiteout');
  }

  /**
   * Makes directories hide what is below them.
   *
   * @throws TrlError INTERNAL_ERROR as above
   */
  async makeOpaque(paths: readonly BytePath[]): Promise<void> {
    await this.#do('m', paths, 'make a directory opaque');
  }

  /** Undoes {@link makeOpaque}. @throws TrlError INTERNAL_ERROR where one failed */
  async clearOpaque(paths: readonly BytePath[]): Promise<void> {
    await this.#do('u', paths, 'make a directory opaque no longer');
  }

  /** Has files stand for nothing below. @throws TrlError INTERNAL_ERROR where one failed */
  async clearOrigin(paths: readonly BytePath[]): Promise<void> {
    await this.#do('f', paths, 'part a file from what it was copied from');
  }

  /** Ends the helper; a later ask starts another. */
  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = null;
    child?.stdin.end();
    child?.kill('SIGKILL');
    this.#fail('it was closed');
  }

  async #do(ask: Ask, paths: readonly BytePath[], about: string): Promise<void> {
    const said = await this.#ask(paths.map((path) => `${ask}${path}`));
    const at = said.findIndex((answer) => answer !== 'y' && answer !== noSuchAttribute);
    if (at === -1) return;
    const name = pathText(paths[at] ?? '');
    throw new TrlError(
      'INTERNAL_ERROR',
      `Cannot ${about} at "${name}": errno ${said[at]?.slice(1)}`,
    );
  }

  async #ask(asks: readonly string[]): Promise<string[]> {
    const answers: Promise<readonly string[]>[] = [];
    for (let at = 0; at < asks.length; at += asksOfBatch) {
      answers.push(this.#send(asks.slice(at, at + asksOfBatch)));
    }
    return (await Promise.all(answers)).flat();
  }

  #send(asks: readonly string[]): Promise<readonly string[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>();
    clearTimeout(this.#idle);
    this.#batches.push({ count: asks.length, answers: [], resolve, reject });
    const child = this.#running();
    child?.stdin.write(Buffer.from(`${asks.length}\0${asks.join('\0')}\0`, 'latin1'));
    return promise;
  }

  #running(): ChildProcessWithoutNullStreams | null {
    if (this.#child !== null) return this.#child;
    const calls = layerSystemCalls(process.arch);
    if (calls === null) {
      this.#fail(`system calls of ${process.arch} are not known`);
      return null;
    }
    const child = spawn(this.#perl, ['-e', layerScript, ...calls], {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      stdio: 'pipe',
    });
    this.#child = child;
    this.#rest = '';
    let complaint = '';
    child.stdout.setEncoding('latin1').on('data', (text: string) => this.#hear(child, text));
    child.stderr.setEncoding('latin1').on('data', (text: string) => {
      complaint = `${complaint}${text}`.slice(0, 512);
    });
    // A write to a helper that died: its end says more.
    child.stdin.on('error', () => {});
    const end = (said: string): void => {
      if (this.#child !== child) return;
      this.#child = null;
      this.#fail(said);
    };
    child.once('error', (error) => end(error.message));
    child.once('close', (code, signal) => end(complaint.trim() || `it ended (${code ?? signal})`));
    return child;
  }

  #hear(child: ChildProcessWithoutNullStreams, text: string): void {
    if (this.#child !== child) return;
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const batch = this.#batches[0];
      if (batch === undefined) return;
      if (batch.answers.push(line) < batch.count) continue;
      this.#batches.shift();
      batch.resolve(batch.answers);
    }
    if (this.#batches.length === 0) {
      this.#idle = setTimeout(() => this[Symbol.dispose](), this.#idleMs).unref();
    }
  }

  #fail(said: string): void {
    const batches = this.#batches;
    this.#batches = [];
    for (const batch of batches) {
      batch.reject(
        new TrlError('SANDBOX_UNAVAILABLE', `Cannot read the layers of an overlay: ${said}`),
      );
    }
  }
}

/**
 * The program behind {@link LayerAttributes}: Node can neither read extended attributes nor make
 * device nodes. For perl-base, which every Debian has.
 *
 * Arguments: NR_LGETXATTR NR_LSETXATTR NR_LREMOVEXATTR NR_MKNODAT.
 *
 * Standard input, every part ended by a NUL: the number of asks, then the asks, each one letter and
 * an absolute path of any length. When all of them were read, the answers come, one line each:
 *
 *   o  is the directory opaque?         `y`, `n`
 *   c  was it copied from below?        `y`, `n`
 *   w  make a whiteout                  `y`
 *   m  make the directory opaque        `y`
 *   u  make it opaque no longer         `y`
 *   f  make it a file of its own        `y`
 *
 * or `!` and an errno. It ends with its standard input.
 */
const layerScript = String.raw`
use strict; use Fcntl ();
my ($nr_get, $nr_set, $nr_remove, $nr_mknodat) = @ARGV;
my ($opaque, $origin, $yes) = ("user.overlay.opaque", "user.overlay.origin", "y");
$| = 1;
$/ = "\0";
# The way to an entry: each directory is opened in the one above and never through a link, which a
# command may just have put there. What was opened is kept until all of a batch is answered.
my %opened;
sub near {
  my ($path) = @_;
  my $cut = rindex($path, "/");
  my $at = opened(substr($path, 0, $cut)) or return undef;
  return "/proc/self/fd/" . fileno($at) . substr($path, $cut);
}
sub opened {
  my ($directory) = @_;
  return $opened{$directory} if $opened{$directory};
  my $flags = 0x200000 | Fcntl::O_DIRECTORY() | Fcntl::O_NOFOLLOW();
  my $name = "/";
  if ($directory ne "") {
    my $cut = rindex($directory, "/");
    my $above = opened(substr($directory, 0, $cut)) or return undef;
    $name = "/proc/self/fd/" . fileno($above) . substr($directory, $cut);
  }
  %opened = () if keys %opened > 64;
  sysopen(my $at, $name, $flags) or return undef;
  return $opened{$directory} = $at;
}
sub done { return $_[0] == 0 ? "y" : "!" . ($! + 0) }
sub attribute {
  my ($path, $name) = @_;
  my $value = "\0" x 64;
  my $length = syscall($nr_get, $path, $name, $value, 64);
  return substr($value, 0, $length) if $length >= 0;
  # No such attribute, not possible here, too long for what an overlay says with it.
  return undef if $! == 61 || $! == 95;
  return "long" if $! == 34;
  die "!" . ($! + 0) . "\n";
}
sub answer {
  my ($ask, $path) = @_;
  return (attribute($path, $opaque) // "") eq "y" ? "y" : "n" if $ask eq "o";
  return defined attribute($path, $origin) ? "y" : "n" if $ask eq "c";
  return done(syscall($nr_mknodat, -100, $path, 0020000, 0)) if $ask eq "w";
  return done(syscall($nr_set, $path, $opaque, $yes, 1, 0)) if $ask eq "m";
  return done(syscall($nr_remove, $path, $opaque)) if $ask eq "u";
  return done(syscall($nr_remove, $path, $origin)) if $ask eq "f";
  return "!22";
}
while (defined(my $count = <STDIN>)) {
  chomp $count;
  my @asks;
  for (1 .. $count) { push @asks, scalar <STDIN> }
  my $out = "";
  for my $line (@asks) {
    chomp $line;
    my $path = near(substr($line, 1));
    my $said = defined $path ? eval { answer(substr($line, 0, 1), $path) } : "!" . ($! + 0);
    ($said //= $@) =~ s/\n\z//;
    $out .= "$said\n";
  }
  %opened = ();
  print $out;
}
`;

/** The numbers that `layerScript` is given; `null`: not known for this machine. */
function layerSystemCalls(arch: string): readonly string[] | null {
  if (arch === 'x64') return ['192', '189', '198', '259'];
  return arch === 'arm64' ? ['9', '6', '15', '33'] : null;
}
