/** The script of `package.json` that `npm run` would run. Reads the host's file system. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { fieldOf } from '../json-shape.ts';
import type { LookupScope } from './facts.ts';
import { isPathInside } from './path-containment.ts';

export interface PackageScript {
  /** The `package.json`. */
  readonly file: string;
  readonly name: string;
  /** Its text, with those that npm runs before and after it: `prebuild`, `build`, `postbuild`. */
  readonly text: string;
  /** SHA-256 (hex) of {@link text}. */
  readonly sha256: string;
}

const packageBytesMax = 4 * 1024 * 1024;

/**
 * `missing`: no package in the workspace has it, so npm starts nothing. `null`: unknown, because
 * the package cannot be used or differs for commands.
 */
export async function findPackageScript(
  name: string,
  place: LookupScope,
): Promise<PackageScript | 'missing' | null> {
  const found = await scriptOf(name, place);
  const { workspace, isElsewhere = () => false } = place;
  if (found !== 'missing' || workspace === null) return found;
  const isOther = packagesAbove(place.cwd, workspace).some((file) => isElsewhere(file));
  return isOther ? null : found;
}

async function scriptOf(
  name: string,
  place: LookupScope,
): Promise<PackageScript | 'missing' | null> {
  const found = await nearestPackage(place);
  if (found === null || found === 'missing') return found;
  const scripts = fieldOf(found.json, 'scripts');
  if (scripts === undefined) return 'missing';
  if (typeof scripts !== 'object' || scripts === null) return null;
  const parts = [`pre${name}`, name, `post${name}`].flatMap((one) => {
    const text: unknown = Object.hasOwn(scripts, one) ? fieldOf(scripts, one) : undefined;
    return typeof text === 'string' ? [{ one, text }] : [];
  });
  if (!parts.some(({ one }) => one === name)) return 'missing';
  const text =
    parts.length === 1
      ? (parts[0]?.text ?? '')
      : parts.map(({ one, text: body }) => `${one}: ${body}`).join('\n');
  return { file: found.file, name, text, sha256: createHash('sha256').update(text).digest('hex') };
}

/** npm takes the nearest one upwards; never one above the workspace. */
async function nearestPackage(
  place: LookupScope,
): Promise<{ file: string; json: object } | 'missing' | null> {
  const { workspace } = place;
  if (workspace === null || !isPathInside(place.cwd, workspace)) return null;
  for (const file of packagesAbove(place.cwd, workspace)) {
    const json = await readJson(file);
    if (json !== undefined) return typeof json === 'object' && json ? { file, json } : null;
  }
  return 'missing';
}

function packagesAbove(cwd: string, workspace: string): readonly string[] {
  const files: string[] = [];
  for (let at = cwd; isPathInside(at, workspace); at = path.dirname(at)) {
    files.push(path.join(at, 'package.json'));
    if (at === '/') break;
  }
  return files;
}

/** `undefined`: there is none; `null`: it cannot be used. */
async function readJson(file: string): Promise<unknown> {
  const handle = await open(
    file,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
  ).catch((error: unknown) =>
    error instanceof Error && 'code' in error && error.code === 'ENOENT' ? undefined : null,
  );
  if (handle === undefined) return undefined;
  if (handle === null) return null;
  try {
    const seen = await handle.stat();
    if (!seen.isFile() || seen.size > packageBytesMax) return null;
    return JSON.parse(await handle.readFile('utf8')) ?? null;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}
