/** What an audit verb writes: to standard output, or to a file that is new. */
import { writeFileSync } from 'node:fs';
import { TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';

/** @throws TrlError `INVALID_PARAMS` when there is such a file, or none can be made */
export function writeAuditOutput(args: CliArguments, text: string): void {
  const file = args.text('out');
  if (file === undefined) {
    process.stdout.write(text);
    return;
  }
  try {
    // What is in the log is for nobody else.
    writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw notWrittenError(file, cause);
  }
}

export function notWrittenError(file: string, cause: unknown): TrlError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new TrlError('INVALID_PARAMS', `Cannot write "${file}": ${why}`, { cause });
}
