/**
 * A pseudo-terminal. Both ends are opened here, close-on-exec like everything that Node opens;
 * perl-base makes the three calls that Node lacks.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, fchownSync, openSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { TrlError } from '../errors.ts';
import { helperEnvironment } from './enclose.ts';

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface PseudoTerminal {
  /** Its output. */
  readonly output: ReadStream;
  /** Its input. */
  readonly input: Writable;
  readonly slave: number;
  /** Resolves when it has that size, or the last one that was requested meanwhile. */
  resize(size: TerminalSize): Promise<void>;
  closeSlave(): void;
  close(): void;
}

/** Unlocks a new pair (TIOCSPTLCK), prints its number (TIOCGPTN) and sets its size. */
const script = String.raw`
use strict;
my ($is_new, @size) = @ARGV;
my ($unlocked, $number, $window) = (pack("i", 0), pack("i", 0), pack("S4", @size, 0, 0));
open(my $master, "+<&=", 3) or die;
sub set { ioctl($master, $_[0], $_[1]) or do { print STDERR "$!\n"; exit 1 } }
if ($is_new) { set(0x40045431, $unlocked); set(0x80045430, $number) }
set(0x5414, $window);
print unpack("i", $number);
`;

const { O_NOCTTY, O_NONBLOCK, O_RDWR } = constants;
const callMs = 10_000;
/** Wait before writing again to a terminal that takes no more input. */
const fullMs = 20;

/**
 * @param uid the command's, which opens it by its name
 * @throws TrlError `SANDBOX_UNAVAILABLE` where there are none, or no perl
 */
export async function openPseudoTerminal(uid: number, size: TerminalSize): Promise<PseudoTerminal> {
  let master = -1;
  let slave = -1;
  try {
    // Neither becomes the terminal of this process.
    master = openSync('/dev/ptmx', O_RDWR | O_NOCTTY | O_NONBLOCK);
    const number = await call(master, true, size);
    slave = openSync(`/dev/pts/${number}`, O_RDWR | O_NOCTTY);
    if (process.getuid?.() === 0) fchownSync(slave, uid, uid);
    return terminalOf(master, slave);
  } catch (cause) {
    for (const fd of [master, slave]) if (fd >= 0) closeSync(fd);
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot open a terminal: ${why}`, { cause });
  }
}

function terminalOf(master: number, slave: number): PseudoTerminal {
  const output = new ReadStream(master);
  output.on('error', () => output.destroy());
  const input = typing(master, () => output.destroyed);
  let isSlaveOpen = true;
  let wanted: TerminalSize | null = null;
  let setting: Promise<void> | null = null;
  const setSize = async (): Promise<void> => {
    for (let size = wanted; size !== null && !output.destroyed; size = wanted) {
      // A terminal that has ended meanwhile has no size.
      await call(master, false, size).catch(() => {});
      if (wanted === size) wanted = null;
    }
    setting = null;
  };
  return {
    output,
    input,
    slave,
    resize: (size) => {
      wanted = size;
      setting ??= setSize();
      return setting;
    },
    closeSlave: () => {
      if (isSlaveOpen) closeSync(slave);
      isSlaveOpen = false;
    },
    close: () => {
      output.destroy();
      input.destroy();
    },
  };
}

/** Answers the number of the pair. */
async function call(
  master: number,
  isNew: boolean,
  { rows, columns }: TerminalSize,
): Promise<number> {
  const args = ['-e', script, isNew ? '1' : '', String(rows), String(columns)];
  const child = spawn('perl', args, {
    cwd: '/',
    env: helperEnvironment,
    // Not as its standard input, which Node would make blocking, here as well.
    stdio: ['ignore', 'pipe', 'pipe', master],
    timeout: callMs,
    killSignal: 'SIGKILL',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the pair is not made: ${said.trim() || code}`);
  return Number(said);
}

/**
 * Writes to a terminal that may be full. Node's own stream for it would try again and again without
 * doing anything else, for as long as nobody reads there.
 */
function typing(master: number, isClosed: () => boolean): Writable {
  let timer: NodeJS.Timeout | null = null;
  const attempt = (bytes: Uint8Array, done: (error?: Error) => void): void => {
    // Its number may be another file's by now.
    if (isClosed()) return done();
    let count = 0;
    try {
      count = writeSync(master, bytes);
    } catch (error) {
      if (!isFull(error)) return done();
    }
    if (count === bytes.length) return done();
    timer = setTimeout(() => attempt(bytes.subarray(count), done), fullMs);
  };
  return new Writable({
    write: (bytes: Buffer, _, done) => attempt(bytes, done),
    destroy: (error, done) => {
      if (timer !== null) clearTimeout(timer);
      done(error);
    },
  });
}

const isFull = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';
