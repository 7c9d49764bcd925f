/**
 * Gathers facts: the tools of a project, and whether they are the ones that the user has trusted.
 * `trusted-tools.json` holds, by the real path of a directory, the SHA-256 of all files of its
 * `.trl/tools` by name and content: one that was added, changed or removed makes it another.
 */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readOwnedFile } from '../yaml/owned-file.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import { readTrustRecord, resolveTrustedDirectory, recordTrust } from '../yaml/trust-record.ts';
import type { FileErrorTarget } from '../yaml/tree.ts';
import { ToolFileError } from './tool-file.ts';

const projectTools = path.join('.trl', 'tools');
const trustFileName = 'trusted-tools.json';
const filesMax = 256;

export interface ToolFileBytes {
  readonly file: string;
  readonly bytes: Uint8Array;
}

/** The files of a directory of tools, in the order of their names; empty where there is none. */
export function listToolFiles(directory: string): string[] {
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
 * The current tools of a project; `null` if nobody trusted this version. Returns exactly what was
 * hashed.
 *
 * @throws ToolFileError for a file that cannot be read
 */
export function readTrustedTools(directory: string): readonly ToolFileBytes[] | null {
  const known = readTrustRecord(record()).get(directory);
  if (known === undefined) return null;
  const files = bytesIn(directory);
  return digestOf(files) === known ? files : null;
}

/**
 * Directories with trusted tools, with the SHA-256 of the trusted version.
 *
 * @throws ToolFileError for a record that cannot be read
 */
export const readToolTrustRecord = (): ReadonlyMap<string, string> => readTrustRecord(record());

/** Whether the project has tools, trusted or not. */
export const hasProjectTools = (directory: string): boolean =>
  listToolFiles(path.join(directory, projectTools)).length > 0;

/**
 * Trusts the tools of a directory as they are now; without any the directory is forgotten.
 *
 * @throws ToolFileError for a file that cannot be read; TrlError `INVALID_PARAMS`
 */
export function trustProjectTools(directory: string): {
  directory: string;
  files: readonly string[];
} {
  const real = resolveTrustedDirectory(directory);
  const files = bytesIn(real);
  recordTrust(record(), real, files.length === 0 ? null : digestOf(files));
  return { directory: real, files: files.map(({ file }) => file) };
}

function bytesIn(directory: string): ToolFileBytes[] {
  const place = path.join(directory, projectTools);
  // A link would lead to files that are no part of the project.
  const isPlain = [path.dirname(place), place].every(
    (one) => lstatSync(one, { throwIfNoEntry: false })?.isDirectory() === true,
  );
  if (!isPlain) return [];
  return listToolFiles(place).map((file) => {
    const bytes = readOwnedFile(
      { file, Failure: ToolFileError },
      { owner: 'anyone', follow: false },
    );
    return { file, bytes: bytes ?? Buffer.alloc(0) };
  });
}

function digestOf(files: readonly ToolFileBytes[]): string {
  const hash = createHash('sha256');
  for (const { file, bytes } of files) {
    const inner = createHash('sha256').update(bytes).digest('hex');
    hash.update(`${JSON.stringify(path.basename(file))} ${inner}\n`);
  }
  return hash.digest('hex');
}

const record = (): FileErrorTarget => ({
  file: path.join(configDirectory(), trustFileName),
  Failure: ToolFileError,
});
