/** Connects a command to this terminal: output, input, size and interruptions. */
import { spawnSync } from 'node:child_process';
import { fstatSync } from 'node:fs';
import type { Client, ExecEnd, ExecId, ExecStream } from '../client/index.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { interruptedExitCode } from './interrupts.ts';
import type { Interrupts } from './interrupts.ts';
import { printDimmed, printJson, printReceiptSummary, printWarnings } from './print.ts';
import { Progress, StandardOutput } from './standard-output.ts';
import type { OutputErrorHandler } from './standard-output.ts';

/** What a shell reports of a program whose output nobody reads: 128 + SIGPIPE. */
const brokenPipeCode = 141;

interface RelayOptions {
  /** The receipt in one line instead of the output. */
  readonly json: boolean;
  readonly raw: boolean;
  readonly quiet: boolean;
  /** Whether the command gets this program's input. */
  readonly stdin: boolean;
  /** Whether the command has a terminal: then keys go to it as they are typed. */
  readonly pty: boolean;
  /** Whether it has a terminal that is only looked at here. */
  readonly display?: boolean;
  /** Whether an interruption ends the command too. */
  readonly cancels: boolean;
  /** Called with the end, after all other output. */
  readonly onEnded?: (end: ExecEnd) => void;
}

/** Follows `stream` to its end; answers the exit code. */
export async function relayCommand(
  client: Client,
  stream: ExecStream,
  interrupts: Interrupts,
  options: RelayOptions,
): Promise<number> {
  let broken: NodeJS.ErrnoException | null = null;
  const quit = (how?: string): void => {
    const done = options.cancels ? stream.cancel(how) : stream[Symbol.asyncDispose]();
    // What became of it shows in how the stream ends.
    done.catch(() => {});
  };
  const onBroken: OutputErrorHandler = (error) => {
    broken ??= error;
    quit();
  };
  // At a terminal the first Ctrl-C does what it does there: many programs finish up on it.
  const isTyped = process.stdin.isTTY || process.stderr.isTTY;
  interrupts.each((count) => {
    const typed = isTyped && interrupts.exitCode === interruptedExitCode ? 'INT' : undefined;
    quit(count === 1 ? typed : 'KILL');
  });
  const over = new AbortController();
  using _terminal = options.pty ? takeTerminal(client, stream) : null;
  const feeding = options.stdin
    ? stream.execId.then((id) =>
        feedStdin(client, id, { signal: over.signal, eof: true, lenient: true }),
      )
    : Promise.resolve();
  // A failure that matters shows in the stream as well.
  feeding.catch(() => {});
  try {
    const end = options.json ? await gather(stream) : await show(stream, options, onBroken);
    if (!options.quiet) printWarnings(end);
    if (!options.json && !options.quiet) {
      printReceiptSummary(end, {
        interactive: process.stderr.isTTY && !options.pty,
        changesAreTold: options.onEnded !== undefined,
      });
    }
    options.onEnded?.(end);
    return interrupts.exitCode ?? codeOfBroken(broken) ?? end.exit_code;
  } catch (error) {
    const left = interrupts.exitCode ?? codeOfBroken(broken);
    if (left !== null && !options.cancels) {
      return left;
    }
    throw error;
  } finally {
    over.abort();
  }
}

/** A reader that went away is its own choice; output that cannot be kept is a failure. */
function codeOfBroken(error: NodeJS.ErrnoException | null): number | null {
  if (error === null) {
    return null;
  }
  if (error.code === 'EPIPE') {
    return brokenPipeCode;
  }
  throw new TrlError('INTERNAL_ERROR', `Cannot write the output: ${error.message}`, {
    cause: error,
  });
}

async function gather(stream: ExecStream): Promise<ExecEnd> {
  using progress = new Progress(true);
  progress.begin('running');
  const receipt = await stream.collect();
  progress.clear();
  printJson(receipt);
  return receipt;
}

async function show(
  stream: ExecStream,
  options: RelayOptions,
  onBroken: OutputErrorHandler,
): Promise<ExecEnd> {
  const level = options.pty ? 'interactive' : options.display === true ? 'display' : 'text';
  const how = { raw: options.raw, level } as const;
  using stdout = new StandardOutput(process.stdout, how, onBroken);
  using stderr = new StandardOutput(process.stderr, how, onBroken);
  const outputs = { stdout, stderr };
  using progress = new Progress(!options.quiet && !options.pty);
  progress.begin('running');
  for await (const event of stream) {
    progress.clear();
    if (event.type === 'output') {
      const output = outputs[event.stream];
      await output.write(event.bytes);
      if (output.isTerminal) {
        progress.wrote(event.bytes);
      }
    } else if (event.type === 'gap') {
      printDimmed(`${event.to - event.from} bytes of output are missing here`);
    } else if (process.stderr.isTTY && !options.quiet && !options.pty) {
      const how = options.stdin ? '' : '; pass some with --stdin or a pipe';
      printDimmed(`${event.program} waits for input${how}`);
    }
  }
  await Promise.all([outputs.stdout.flush(), outputs.stderr.flush()]);
  return stream.exit;
}

/** Keys go to the command as they are typed, and it learns of the size; until disposed. */
function takeTerminal(client: Client, stream: ExecStream): Disposable {
  const resize = (): void => {
    const { columns, rows } = terminalSize();
    const resized = stream.execId.then((id) => client.resize({ exec_id: id, columns, rows }));
    // A command that ended has no size.
    resized.catch(() => {});
  };
  const raw = process.stdin.isTTY && !process.stdin.isRaw;
  if (raw) {
    process.stdin.setRawMode(true);
    // Node's raw mode still makes CR LF of LF, by which full-screen programs move straight down.
    spawnSync('stty', ['-onlcr'], { stdio: ['inherit', 'ignore', 'ignore'] });
  }
  process.stdout.on('resize', resize);
  return {
    [Symbol.dispose]: () => {
      process.stdout.off('resize', resize);
      if (raw) {
        process.stdin.setRawMode(false);
      }
    },
  };
}

/** This terminal's size in characters; 80 × 24 where there is none. */
export function terminalSize(): { readonly columns: number; readonly rows: number } {
  const { isTTY, columns, rows } = process.stdout;
  return isTTY && columns > 0 && rows > 0 ? { columns, rows } : { columns: 80, rows: 24 };
}

// Standard input as a command's input.

/** Bytes in one call: far below the largest request, also in base64. */
const pieceBytesMax = 256 * 1024;
/** `makedev(1, 3)`: the null device of Linux. */
const nullDevice = 0x103;

/** Whether something is piped in: neither a terminal, nor `/dev/null`, nor closed. */
export function isStdinPiped(): boolean {
  if (process.stdin.isTTY) {
    return false;
  }
  try {
    const found = fstatSync(0);
    return !(found.isCharacterDevice() && found.rdev === nullDevice);
  } catch {
    return false;
  }
}

interface StdinFeedOptions {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Whether the command's input ends with this one. */
  readonly eof: boolean;
  /** Whether a command that takes no more is nothing to report. */
  readonly lenient: boolean;
}

/**
 * Passes standard input to the command until it ends, the command takes no more, or `signal`.
 *
 * @throws TrlError when the runtime fails; also when the command takes no more, unless `lenient`.
 */
export async function feedStdin(
  client: Client,
  execId: ExecId,
  options: StdinFeedOptions,
): Promise<void> {
  const { signal } = options;
  const stop = (): void => {
    process.stdin.destroy();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of chunksOf(process.stdin)) {
      for (let at = 0; at < chunk.length; at += pieceBytesMax) {
        const data = chunk.subarray(at, at + pieceBytesMax).toString('base64');
        await client.write({ exec_id: execId, data, encoding: 'base64' });
      }
    }
    if (options.eof) {
      await client.write({ exec_id: execId, data: '', eof: true });
    }
  } catch (error) {
    // A command that ended, or closed its input, takes no more: as with a pipe, that is its choice.
    const refused = options.lenient && isTrlError(error) && error.code !== 'BACKEND_UNAVAILABLE';
    if (!signal.aborted && !refused) {
      throw error;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    process.stdin.destroy();
  }
}

async function* chunksOf(stream: NodeJS.ReadStream): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of stream) {
    yield Buffer.from(chunk);
  }
}
