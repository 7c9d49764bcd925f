/** Standard input as a command's input. */
import { fstatSync } from 'node:fs';
import type { Client, ExecId } from '../client/index.ts';
import { isTrlError } from '../errors.ts';

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

export interface StdinFeedOptions {
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
