/**
 * `trl audit keygen|reveal|shred`: raw output, which only an auditor's key opens. That it is shown
 * or destroyed is on disk in the audit log before it happens.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { jsonText } from '../provenance/logged-events.ts';
import { generateIdentity, parseIdentities } from '../sealing/keys.ts';
import type { AgeIdentity } from '../sealing/keys.ts';
import { rawLogKeyPath } from '../sealing/header.ts';
import type { RawLogRecord } from '../sealing/chunk.ts';
import { listRawLogs, shredRawLog } from '../sealing/retention.ts';
import { digestRawLog, revealRawLog } from '../sealing/reveal.ts';
import { SealingError } from '../sealing/keys.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { rawOutputDirectory, readAllEvents, recordCliAction } from './audit-read.ts';
import { writeAuditOutput } from './audit.ts';
import { printJson, printLines, printMessage } from './print.ts';
import { parseExecId } from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { StandardOutput } from './standard-output.ts';

const identityBytesMax = 64 * 1024;

/** The public half is for `audit.recipients`; the secret one is written once, to a file of 0600. */
export async function runAuditKeygen(args: CliArguments): Promise<number> {
  const file = args.text('out');
  if (file === undefined) throw usageError('audit keygen', 'name a new file with --out FILE');
  const { identity, recipient } = generateIdentity();
  const text = `# ${new Date().toISOString()}\n# public key: ${recipient}\n${identity}\n`;
  writeAuditOutput(args, text);
  if (args.has('json')) printJson({ recipient, file: path.resolve(file) });
  else printLines([recipient]);
  printMessage(`keep "${file}" where no agent reads; the line above is for audit.recipients`);
  return 0;
}

/** Exit code 1 when what is sealed is not what was recorded, or does not reach to its end. */
export async function runAuditReveal(args: CliArguments): Promise<number> {
  const exec = parseExecId(requireSingleWord(args, 'audit reveal', 'log'));
  const file = args.text('identity');
  if (file === undefined) {
    throw usageError('audit reveal', 'name your identity with --identity FILE');
  }
  const identities = await identitiesOf(file);
  const base = path.join(rawOutputDirectory(), exec);
  const chunks = revealRawLog(base, identities);
  // A log that cannot be opened is reported before the log records that it was shown.
  const first = await chunks.next().catch(asTrlError);
  const sealed = await digestRawLog(base).catch(asTrlError);
  const recorded = recordedDigest(exec);
  const isSame = recorded === null ? null : recorded === sealed.sha256;
  const recipients = identities.map(({ recipient }) => recipient.text);
  const data = { ...sealed, recipients, as_recorded: isSame };
  await recordCliAction('audit reveal', { kind: 'raw-log.revealed', exec, data });
  if (isSame === false) printMessage('the sealed output is not what was recorded: do not trust it');
  if (isSame === null) {
    printMessage('the log does not tell of this sealed output: its origin is not proved');
  }
  const show = chunkWriter(args);
  try {
    for (let next = first; next.done !== true; next = await chunks.next()) await show(next.value);
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    printMessage(`${error.message} [${error.reason}]`);
    return 1;
  }
  return isSame === true ? 0 : 1;
}

/** Exit code 1 when one of them had no key. */
export async function runAuditShred(args: CliArguments): Promise<number> {
  const execs = args.words.map(parseExecId);
  if (execs.length === 0) throw usageError('audit shred', 'which ones? name executions');
  const kept = new Map((await listRawLogs(rawOutputDirectory())).map((log) => [log.exec, log]));
  const results: { exec_id: ExecId; shredded: boolean }[] = [];
  for (const exec of execs) {
    const base = path.join(rawOutputDirectory(), exec);
    // The sealed file may lie elsewhere: it is the key that opens every copy of it.
    const isThere = existsSync(rawLogKeyPath(base));
    const data = { bytes: kept.get(exec)?.bytes ?? null, why: 'asked for' };
    if (isThere) await recordCliAction('audit shred', { kind: 'raw-log.shredded', exec, data });
    const shredded = isThere && (await shredRawLog(base));
    results.push({ exec_id: exec, shredded });
    if (!args.has('json')) {
      printMessage(
        shredded ? `nobody can read the raw output of ${exec} any more` : `${exec} had no key`,
      );
    }
  }
  if (args.has('json')) printJson({ shredded: results });
  return results.every(({ shredded }) => shredded) ? 0 : 1;
}

/** What the log says that the sealed file is; `null`: it does not. */
function recordedDigest(exec: ExecId): string | null {
  for (const { event } of readAllEvents({ exec, kinds: ['exec.ended'] })) {
    const sha256 = jsonText(event.data['raw_log'], 'sha256');
    if (sha256 !== null) return sha256;
  }
  return null;
}

/** Writes a chunk to its own stream, or as a line of JSON. */
function chunkWriter(args: CliArguments): (chunk: RawLogRecord) => Promise<void> {
  if (args.has('json')) {
    return async ({ stream, offset, bytes }) => {
      printJson({ stream, offset, data_b64: Buffer.from(bytes).toString('base64') });
    };
  }
  const options = { raw: args.has('raw'), level: 'text' } as const;
  const outputs = {
    stdout: new StandardOutput(process.stdout, options, () => {}),
    stderr: new StandardOutput(process.stderr, options, () => {}),
  };
  return async ({ stream, bytes }) => outputs[stream].write(bytes);
}

async function identitiesOf(file: string): Promise<readonly AgeIdentity[]> {
  try {
    const text = await readFile(file, 'utf8');
    if (text.length > identityBytesMax) throw new Error('the file is too large');
    return parseIdentities(text);
  } catch (cause) {
    const message = `Cannot use the identity "${file}": ${reasonOf(cause)}`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

function asTrlError(cause: unknown): never {
  if (!(cause instanceof SealingError)) throw cause;
  const code = cause.reason === 'absent' ? 'EXEC_NOT_FOUND' : 'INVALID_PARAMS';
  throw new TrlError(code, `Cannot reveal the output: ${cause.message}`, { cause });
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
