/** The script of `package.json` that `npm run` would run. Reads the host's file system. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import type { Place } from './facts.ts';
import { isInside } from './inside.ts';

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

/** `null` where no package in the workspace has the script. */
export async function packageScript(name: string, place: Place): Promise<PackageScript | null> {
  const found = await nearestPackage(place);
  if (found === null) return null;
  const scripts: unknown = Reflect.get(found.json, 'scripts');
  if (typeof scripts !== 'object' || scripts === null) return null;
  const parts = [`pre${name}`, name, `post${name}`].flatMap((one) => {
    const text: unknown = Object.hasOwn(scripts, one) ? Reflect.get(scripts, one) : undefined;
    return typeof text === 'string' ? [{ one, text }] : [];
  });
  if (!parts.some(({ one }) => one === name)) return null;
  const text =
    parts.length === 1
      ? (parts[0]?.text ?? '')
      : parts.map(({ one, text: body }) => `${one}: ${body}`).join('\n');
  return { file: found.file, name, text, sha256: createHash('sha256').update(text).digest('hex') };
}

/** npm takes the nearest directory upwards that holds one; never one above the workspace. */
async function nearestPackage(place: Place): Promise<{ file: string; json: object } | null> {
  const { workspace } = place;
  if (workspace === null) return null;
  for (let at = place.cwd; isInside(at, workspace);) {
    const file = path.join(at, 'package.json');
    const json = await readJson(file);
    if (json !== undefined) return typeof json === 'object' && json ? { file, json } : null;
    at = path.dirname(at);
  }
  return null;
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
