/**
 * `trl redact`: the redaction of command output as a filter. No daemon is needed; with the
 * installation's key, tags are those of its receipts.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { openSecretKey, redactionKeyName } from '../approval/key.ts';
import { fieldOf } from '../json-shape.ts';
import { loadConfiguration } from '../configuration/load.ts';
import { TrlError } from '../errors.ts';
import { LineReader } from '../protocol/lines.ts';
import { version } from '../protocol/version.ts';
import type { KnownSecret } from '../redacted.ts';
import { secretPriorOf } from '../redaction/detect/secret-prior.ts';
import { buildKnownIndex } from '../redaction/known/maskable.ts';
import type { KnownIndex } from '../redaction/known/known-index.ts';
import { checkMaskable } from '../redaction/known/maskable.ts';
import { openRedactor } from '../redaction/open-redactor.ts';
import type { StreamRedactorOptions } from '../redaction/open-redactor.ts';
import { RedactionTags } from '../redaction/redaction-tags.ts';
import { redactionProfileNames } from '../redaction/secret-finding.ts';
import { findSecretSpans } from '../redaction/open-redactor.ts';
import type { SecretReplacement } from '../redaction/stream-redactor.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { escapeHiddenText } from './print.ts';

type Options = Omit<StreamRedactorOptions, 'onRedaction'>;

/** Bytes of a file of known values: 256 of 64 KiB, as JSON may write them. */
const knownBytesMax = 128 * 1024 * 1024;
/** Bytes of one text with its frame of JSON. */
const lineBytesMax = 256 * 1024 * 1024;
const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** Standard input to standard output; the exit code is 0 whether something was hidden or not. */
export async function runRedact(args: CliArguments): Promise<number> {
  const [unwanted] = args.words;
  if (unwanted !== undefined) {
    throw usageError('redact', 'it reads standard input and takes no words');
  }
  const options = await optionsOf(args);
  return args.has('spans') ? spans(options) : filter(options, args.has('json'));
}

async function optionsOf(args: CliArguments): Promise<Options> {
  const asked = args.oneOf('profile', redactionProfileNames);
  const { redaction } = await loadConfiguration({ env: process.env, version: version() });
  const tags = new RedactionTags(readTagKey());
  const file = args.text('known');
  const known = file === undefined ? [] : readKnown(file);
  const index = known.length === 0 ? null : indexOf(known, tags);
  const command = args.text('command');
  const prior = command === undefined ? 'none' : secretPriorOf(command);
  const options = asked === undefined ? redaction : { ...redaction, profile: asked };
  return { options, prior, index, tags };
}

const indexOf = (known: readonly KnownSecret[], tags: RedactionTags): KnownIndex =>
  buildKnownIndex(known.map((one) => ({ ...one, tag: tags.of(one.value) })));

async function filter(options: Options, json: boolean): Promise<number> {
  const counts = new Map<string, { readonly redaction: SecretReplacement; count: number }>();
  const told = (redaction: SecretReplacement): void => {
    const { tag, finding } = redaction;
    const id = `${tag} ${finding.rule} ${finding.key ?? ''}`;
    const before = counts.get(id);
    if (before === undefined) counts.set(id, { redaction, count: 1 });
    else before.count += 1;
  };
  const stream = openRedactor({ ...options, onRedaction: told });
  const { stdin, stdout } = process;
  const pass = async (bytes: Uint8Array): Promise<void> => {
    if (bytes.length > 0 && !stdout.write(bytes)) await once(stdout, 'drain');
  };
  for await (const chunk of stdin) await pass(stream.push(Buffer.from(chunk)));
  await pass(stream.end());
  if (!json) return 0;
  for (const { redaction, count } of counts.values()) {
    const { from, to, tag, finding } = redaction;
    process.stderr.write(`${JSON.stringify({ tag, ...finding, length: to - from, count })}\n`);
  }
  return 0;
}

/** One JSON object a line, in and out. */
async function spans(options: Options): Promise<number> {
  let number = 0;
  for await (const line of linesOf(process.stdin)) {
    number += 1;
    if (line.trim() === '') continue;
    const { id, text, command } = readLine(line, number);
    const prior = command === null ? options.prior : secretPriorOf(command);
    const found = findSecretSpans({ ...options, prior }, text);
    const pairs = found.map(({ start, end }) => [start, end]);
    if (!process.stdout.write(`${JSON.stringify({ id, spans: pairs })}\n`)) {
      await once(process.stdout, 'drain');
    }
  }
  return 0;
}

/** Lines end at a line feed alone: a text may hold U+2028, which `readline` splits at. */
async function* linesOf(stream: NodeJS.ReadStream): AsyncGenerator<string, void, void> {
  const reader = new LineReader(lineBytesMax);
  for await (const chunk of stream) {
    reader.feed(Buffer.from(chunk));
    for (let line = reader.take(); line !== null; line = reader.take()) {
      if (line.kind === 'long') {
        throw new TrlError('INVALID_PARAMS', 'Cannot read standard input: a line is too long');
      }
      yield Buffer.from(line.bytes).toString('utf8');
    }
  }
  const rest = Buffer.from(reader.takeRest()).toString('utf8');
  if (rest !== '') yield rest;
}

function readLine(
  line: string,
  number: number,
): { id: unknown; text: string; command: string | null } {
  const bad = (what: string): TrlError =>
    new TrlError('INVALID_PARAMS', `Cannot read line ${number}: ${what}`);
  const value = parsed(line) ?? null;
  if (typeof value !== 'object' || value === null) throw bad('it is no JSON object');
  const text = fieldOf(value, 'text');
  const command = fieldOf(value, 'command');
  if (typeof text !== 'string') throw bad('"text" is no string');
  return {
    id: fieldOf(value, 'id'),
    text,
    command: typeof command === 'string' ? command : null,
  };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // A parser's own message quotes what it read.
    return null;
  }
}

/**
 * Values to hide: JSON lines `{"name","value"}` in a file that is ours and 0600. No message of it
 * quotes what it holds.
 */
function readKnown(file: string): KnownSecret[] {
  const text = readPrivateFile(file);
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return [];
    const bad = (what: string): TrlError =>
      new TrlError('INVALID_PARAMS', `Cannot read "${file}", line ${index + 1}: ${what}`);
    const value = parsed(line);
    if (typeof value !== 'object' || value === null) throw bad('it is no JSON object');
    const name = fieldOf(value, 'name');
    const secret = fieldOf(value, 'value');
    if (typeof name !== 'string' || typeof secret !== 'string') {
      throw bad('"name" and "value" are wanted, both strings');
    }
    const check = checkMaskable(secret);
    if (!check.ok) throw bad(check.reason);
    return [{ name, value: secret }];
  });
}

function readPrivateFile(file: string): string {
  const refused = (why: string): TrlError =>
    new TrlError('INVALID_PARAMS', `Cannot use "${file}": ${why}`);
  let fd: number;
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw refused(code === 'ELOOP' ? 'it is a link' : `it cannot be opened (${code})`);
  }
  try {
    const found = fstatSync(fd);
    if (!found.isFile() || found.size > knownBytesMax) throw refused('it is no file of values');
    if (found.uid !== process.getuid?.()) throw refused('it belongs to another user');
    if ((found.mode & 0o077) !== 0) throw refused(`it is open to others; run: chmod 600 ${file}`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

// Files of other programs hold their keys, so what is shown of them is redacted first.

/** `text` without what looks like a secret, and without what could steer a terminal. */
export async function redactForDisplay(text: string): Promise<string> {
  const { redaction } = await loadConfiguration({ env: process.env, version: version() });
  const tags = new RedactionTags(readTagKey());
  const stream = openRedactor({
    options: redaction,
    prior: 'none',
    index: null,
    tags,
    onRedaction: told,
  });
  const parts = [stream.push(Buffer.from(text)), stream.end()];
  return Buffer.concat(parts)
    .toString('utf8')
    .replaceAll(/[^\n\t]+/g, (found) => escapeHiddenText(found));
}

const told = (): void => {};

// The key of tags, for what hides values without a runtime.

/** The installation's, when there is one: equal secrets then have the tags of its receipts. */
function readTagKey(): Buffer {
  const home = process.env['XDG_STATE_HOME'] || path.join(os.homedir(), '.local', 'state');
  const dir = path.join(home, 'trl');
  const found = statSync(dir, { throwIfNoEntry: false });
  return found?.isDirectory() === true ? openSecretKey(dir, redactionKeyName) : randomBytes(32);
}
