/**
 * `trl audit keygen|reveal|shred`: raw output, which only an auditor's key opens. That it is shown
 * or destroyed is on disk in the audit log before it happens.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ExecId } from '../command.ts';
import { TrlError } from '../errors.ts';
import { textAt } from '../provenance/told.ts';
import { SealingError } from '../sealing/error.ts';
import { keyPath } from '../sealing/files.ts';
import type { RevealedPiece } from '../sealing/pieces.ts';
import { newIdentity, parseIdentities, type Identity } from '../sealing/keys.ts';
import { reveal as revealPieces, sealedDigest } from '../sealing/reveal.ts';
import { keptLogs, shred as shredLog } from '../sealing/shred.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { rawDirectory } from './audit-place.ts';
import { writeOut } from './audit-out.ts';
import { allEvents } from './audit-read.ts';
import { record } from './audit-record.ts';
import { Output } from './output.ts';
import { toExecId } from './reach.ts';
import { only } from './session.ts';
import { say, sayJson } from './show.ts';

const identityBytesMax = 64 * 1024;

/** The public half is for `audit.recipients`; the secret one is written once, to a file of 0600. */
export async function keygen(args: Args): Promise<number> {
  const file = args.text('out');
  if (file === undefined) throw usage('audit keygen', 'name a new file with --out FILE');
  const { identity, recipient } = newIdentity();
  const text = `# ${new Date().toISOString()}\n# public key: ${recipient}\n${identity}\n`;
  writeOut(args, text);
  if (args.has('json')) sayJson({ recipient, file: path.resolve(file) });
  else process.stdout.write(`${recipient}\n`);
  say(`keep "${file}" where no agent reads; the line above is for audit.recipients`);
  return 0;
}

/** Exit code 1 when what is sealed is not what was recorded, or does not reach to its end. */
export async function reveal(args: Args): Promise<number> {
  const exec = toExecId(only(args, 'audit reveal', 'log'));
  const file = args.text('identity');
  if (file === undefined) throw usage('audit reveal', 'name your identity with --identity FILE');
  const identities = await identitiesOf(file);
  const base = path.join(rawDirectory(), exec);
  const pieces = revealPieces(base, identities);
  // Whatever keeps it from being opened is told before anything is recorded of showing it.
  const first = await pieces.next().catch(asTrlError);
  const sealed = await sealedDigest(base).catch(asTrlError);
  const recorded = recordedDigest(exec);
  const isSame = recorded === null ? null : recorded === sealed.sha256;
  const recipients = identities.map(({ recipient }) => recipient.text);
  const data = { ...sealed, recipients, as_recorded: isSame };
  await record('audit reveal', { kind: 'raw-log.revealed', exec, data });
  if (isSame === false) say('the sealed output is not what was recorded: do not trust it');
  if (isSame === null) say('the log does not tell of this sealed output: its origin is not proved');
  const show = shower(args);
  try {
    for (let next = first; next.done !== true; next = await pieces.next()) await show(next.value);
  } catch (error) {
    if (!(error instanceof SealingError)) throw error;
    say(`${error.message} [${error.reason}]`);
    return 1;
  }
  return isSame === true ? 0 : 1;
}

/** Exit code 1 when one of them had no key. */
export async function shred(args: Args): Promise<number> {
  const execs = args.words.map(toExecId);
  if (execs.length === 0) throw usage('audit shred', 'which ones? name executions');
  const kept = new Map((await keptLogs(rawDirectory())).map((log) => [log.exec, log]));
  const results: { exec_id: ExecId; shredded: boolean }[] = [];
  for (const exec of execs) {
    const base = path.join(rawDirectory(), exec);
    // The sealed file may lie elsewhere: it is the key that opens every copy of it.
    const isThere = existsSync(keyPath(base));
    const data = { bytes: kept.get(exec)?.bytes ?? null, why: 'asked for' };
    if (isThere) await record('audit shred', { kind: 'raw-log.shredded', exec, data });
    const shredded = isThere && (await shredLog(base));
    results.push({ exec_id: exec, shredded });
    if (!args.has('json')) {
      say(shredded ? `nobody can read the raw output of ${exec} any more` : `${exec} had no key`);
    }
  }
  if (args.has('json')) sayJson({ shredded: results });
  return results.every(({ shredded }) => shredded) ? 0 : 1;
}

/** What the log says that the sealed file is; `null`: it does not. */
function recordedDigest(exec: ExecId): string | null {
  for (const { event } of allEvents({ exec, kinds: ['exec.ended'] })) {
    const sha256 = textAt(event.data['raw_log'], 'sha256');
    if (sha256 !== null) return sha256;
  }
  return null;
}

/** Shows a piece on its own stream, or as a line of JSON. */
function shower(args: Args): (piece: RevealedPiece) => Promise<void> {
  if (args.has('json')) {
    return async ({ stream, offset, bytes }) => {
      sayJson({ stream, offset, data_b64: Buffer.from(bytes).toString('base64') });
    };
  }
  const options = { raw: args.has('raw'), level: 'text' } as const;
  const outputs = {
    stdout: new Output(process.stdout, options, () => {}),
    stderr: new Output(process.stderr, options, () => {}),
  };
  return async ({ stream, bytes }) => outputs[stream].write(bytes);
}

async function identitiesOf(file: string): Promise<readonly Identity[]> {
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
