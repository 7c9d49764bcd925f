/**
 * Gathers facts: the tools of a project, and whether they are the ones that the user has trusted.
 * `trusted-tools.json` holds, by the real path of a directory, the SHA-256 of all files of its
 * `.trl/tools` by name and content: one that was added, changed or removed makes it another.
 */
import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import { readBytes } from '../yaml/gather.ts';
import { configDirectory } from '../yaml/places.ts';
import { ToolFileError } from './tool-file.ts';

export const projectTools = path.join('.trl', 'tools');
const trustFileName = 'trusted-tools.json';
const filesMax = 256;
const directoriesMax = 10_000;

const store = z.strictObject({
  version: z.literal(1),
  trusted: z.record(z.string(), z.string().check(z.regex(/^[0-9a-f]{64}$/))),
});

export interface ToolBytes {
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** The files of a directory of tools, in the order of their names; empty where there is none. */
export function toolFilesIn(directory: string): string[] {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return [];
  }
  const found = names.filter((name) => /^[^.].*\.ya?ml$/.test(name)).toSorted();
  return found.slice(0, filesMax).map((name) => path.join(directory, name));
}

/**
 * The tools of a project as they are now; `null`: nobody trusted them so. What is answered is what
 * was hashed.
 *
 * @throws ToolFileError for a file that cannot be read
 */
export function trustedTools(directory: string): readonly ToolBytes[] | null {
  const known = readStore().get(directory);
  if (known === undefined) return null;
  const files = bytesIn(directory);
  return digestOf(files) === known ? files : null;
}

/** Whether the project has tools, trusted or not. */
export const hasTools = (directory: string): boolean =>
  toolFilesIn(path.join(directory, projectTools)).length > 0;

/**
 * Trusts the tools of a directory as they are now; without any the directory is forgotten.
 *
 * @throws ToolFileError for a file that cannot be read; TrlError `INVALID_PARAMS`
 */
export function trustTools(directory: string): { directory: string; files: readonly string[] } {
  const real = realOf(directory);
  const files = bytesIn(real);
  const trusted = new Map(readStore());
  if (files.length === 0) trusted.delete(real);
  else trusted.set(real, digestOf(files));
  if (trusted.size > directoriesMax) {
    const most = `at most ${directoriesMax} directories are trusted`;
    throw new TrlError('QUOTA_EXCEEDED', `Cannot trust "${real}": ${most}`);
  }
  writeStore(trusted);
  return { directory: real, files: files.map(({ file }) => file) };
}

function bytesIn(directory: string): ToolBytes[] {
  const place = path.join(directory, projectTools);
  // A link would lead to files that are no part of the project.
  const isPlain = [path.dirname(place), place].every(
    (one) => lstatSync(one, { throwIfNoEntry: false })?.isDirectory() === true,
  );
  if (!isPlain) return [];
  return toolFilesIn(place).map((file) => {
    const bytes = readBytes({ file, Failure: ToolFileError }, { owner: 'anyone', follow: false });
    return { file, bytes: bytes ?? Buffer.alloc(0) };
  });
}

function digestOf(files: readonly ToolBytes[]): string {
  const hash = createHash('sha256');
  for (const { file, bytes } of files) {
    const inner = createHash('sha256').update(bytes).digest('hex');
    hash.update(`${JSON.stringify(path.basename(file))} ${inner}\n`);
  }
  return hash.digest('hex');
}

function realOf(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (cause) {
    const message = `Cannot trust "${directory}": there is no such directory`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

const storeFile = (): string => path.join(configDirectory(), trustFileName);

function readStore(): ReadonlyMap<string, string> {
  const file = storeFile();
  const bytes = readBytes({ file, Failure: ToolFileError }, { owner: 'user', follow: false });
  if (bytes === null) return new Map();
  try {
    return new Map(Object.entries(store.parse(JSON.parse(bytes.toString('utf8'))).trusted));
  } catch (cause) {
    const message = 'it is no record of trusted tools: repair or remove it';
    throw new ToolFileError(file, [{ line: 1, column: 1, message }], { cause });
  }
}

/** A reader sees the record before or after, never a part of it. */
function writeStore(trusted: ReadonlyMap<string, string>): void {
  const file = storeFile();
  const text = JSON.stringify({ version: 1, trusted: Object.fromEntries(trusted) }, null, 2);
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(draft, `${text}\n`, { mode: 0o600, flag: 'wx', flush: true });
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}
