/**
 * A pseudo-terminal by the optional `@lydell/node-pty`, whose path the daemon passes on: the
 * runner has no dependency of its own. Only its `open` is used; the command is spawned by us.
 */
import { closeSync, fchownSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ReadStream } from 'node:tty';
import { TrlError } from '../errors.ts';

/** The native part of node-pty: `open` makes the pair, `resize` sets the window. */
interface Native {
  open(columns: number, rows: number): { master: number; slave: number };
  resize(fd: number, columns: number, rows: number): void;
}

export interface Terminal {
  readonly master: ReadStream;
  readonly slave: number;
  resize(columns: number, rows: number): void;
  closeSlave(): void;
  close(): void;
}

const isNative = (value: unknown): value is Native =>
  typeof value === 'object' && value !== null && 'open' in value && 'resize' in value;

/**
 * @param path the native module, or `null` when node-pty is not installed
 * @throws TrlError `SANDBOX_UNAVAILABLE` when it is missing
 */
export function openTerminal(
  path: string | null,
  uid: number,
  size: { columns: number; rows: number },
): Terminal {
  const native = path === null ? null : load(path);
  if (!isNative(native)) {
    throw new TrlError(
      'SANDBOX_UNAVAILABLE',
      'Cannot open a terminal: the optional package @lydell/node-pty is not installed',
    );
  }
  const { master, slave } = native.open(size.columns, size.rows);
  // The command's uid must be able to open its own terminal.
  if (process.getuid?.() === 0) fchownSync(slave, uid, uid);
  const stream = new ReadStream(master);
  stream.on('error', () => stream.destroy());
  return {
    master: stream,
    slave,
    resize: (columns, rows) => native.resize(master, columns, rows),
    closeSlave: () => closeOnce(slave),
    close: () => stream.destroy(),
  };
}

function load(path: string): unknown {
  try {
    const found: unknown = createRequire(import.meta.url)(path);
    return found;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `Cannot open a terminal: a part of the runtime cannot be loaded (${why})`;
    const hint = 'a file system that is mounted noexec does that';
    throw new TrlError('SANDBOX_UNAVAILABLE', `${message}; ${hint}`, { cause });
  }
}

function closeOnce(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Already closed by an earlier call.
  }
}
