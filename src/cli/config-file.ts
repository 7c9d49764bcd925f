/**
 * Files of other programs: read whole and strictly, replaced at once, with what was there kept
 * beside it. A reader of the file sees the old text or the new one, never a part of one.
 */
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { CannotEditError, readJsonAt, removeJsonAt, setJsonAt } from './config-json.ts';
import { readTomlAt, removeTomlAt, setTomlAt, tomlSection } from './config-toml.ts';
import type { ConfigFormat, McpConfigLocation, McpEntry } from './mcp-clients.ts';
import { fieldOf } from '../json-shape.ts';

/** Clients keep histories in such files; more than this is none of them. */
const fileBytesMax = 64 * 1024 * 1024;
const backupsMax = 99;

interface McpConfigFile {
  /** Where the text is: behind links. */
  readonly real: string;
  /** `null`: there is no file. */
  readonly text: string | null;
}

/**
 * Reads the file that `file` is or leads to.
 *
 * @param inside a directory that links must not lead out of; `null`: they may lead anywhere
 * @throws CannotEdit when it is no file of text of this user's that can be written
 */
export function readMcpConfigFile(file: string, inside: string | null): McpConfigFile {
  const real = realPlace(file, inside);
  const found = statSync(real, { throwIfNoEntry: false });
  if (found === undefined) return { real, text: null };
  if (!found.isFile()) throw new CannotEditError('it is not a regular file');
  if (found.size > fileBytesMax) {
    throw new CannotEditError(`it is larger than ${fileBytesMax} bytes`);
  }
  const uid = process.getuid?.() ?? found.uid;
  if (found.uid !== uid && uid !== 0) throw new CannotEditError(`it belongs to uid ${found.uid}`);
  try {
    // The mark of the encoding is part of the text here.
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return { real, text: decoder.decode(readFileSync(real)) };
  } catch (error) {
    throw new CannotEditError(error instanceof TypeError ? 'it is not UTF-8' : reasonOf(error));
  }
}

/** The place behind links; that of a file that is not there yet lies in a real directory. */
function realPlace(file: string, inside: string | null): string {
  const link = lstatSync(file, { throwIfNoEntry: false });
  if (link?.isSymbolicLink() === true && !existsSync(file)) {
    throw new CannotEditError('it is a link that leads nowhere');
  }
  const real = link === undefined ? withRealParent(file) : realpathSync(file);
  if (inside === null) return real;
  const root = realpathSync(inside);
  if (real.startsWith(root === '/' ? root : `${root}/`)) return real;
  throw new CannotEditError(`it leads out of the project, to ${JSON.stringify(real)}`);
}

function withRealParent(file: string): string {
  const parent = path.dirname(file);
  if (lstatSync(parent, { throwIfNoEntry: false })?.isSymbolicLink() && !existsSync(parent)) {
    throw new CannotEditError('its directory is a link that leads nowhere');
  }
  const real = existsSync(parent) ? realpathSync(parent) : withRealParent(parent);
  return path.join(real, path.basename(file));
}

/**
 * Puts `text` in the place of what `opened` read; `null` removes the file. Mode and owner stay.
 *
 * @throws CannotEdit when the file is not what was read any more, or cannot be written
 */
export function replaceMcpConfigFile(
  { real, text: before }: McpConfigFile,
  text: string | null,
): void {
  const found = statSync(real, { throwIfNoEntry: false });
  if (found !== undefined && (found.mode & 0o200) === 0) {
    throw new CannotEditError('it is read-only');
  }
  try {
    if (text === null) {
      checkSame(real, before);
      rmSync(real);
      return;
    }
    mkdirSync(path.dirname(real), { recursive: true });
    const made = writeBeside(real, text, found);
    try {
      // As late as can be: what a client wrote meanwhile must not be lost.
      checkSame(real, before);
      renameSync(made, real);
    } finally {
      rmSync(made, { force: true });
    }
  } catch (error) {
    if (error instanceof CannotEditError) throw error;
    throw new CannotEditError(reasonOf(error));
  }
}

/** Keeps `text` beside the file, under the first free name; answers its path. */
export function writeConfigBackup({ real }: McpConfigFile, text: string): string {
  const made = writeBeside(real, text, statSync(real, { throwIfNoEntry: false }));
  try {
    for (const name of backupNames(real)) {
      try {
        linkSync(made, name);
        return name;
      } catch (error) {
        if (!existsSync(name)) throw error;
      }
    }
    throw new CannotEditError(`there are ${backupsMax} backups beside it already`);
  } catch (error) {
    if (error instanceof CannotEditError) throw error;
    throw new CannotEditError(reasonOf(error));
  } finally {
    rmSync(made, { force: true });
  }
}

/** Backups beside the file, the newest first. */
export function listConfigBackups(real: string): string[] {
  return backupNames(real)
    .filter((name) => lstatSync(name, { throwIfNoEntry: false })?.isFile() === true)
    .toReversed();
}

const backupNames = (real: string): string[] =>
  Array.from(
    { length: backupsMax },
    (_, at) => `${real}.before-trl${at === 0 ? '' : `-${at + 1}`}`,
  );

type Like = { readonly mode: number; readonly uid: number; readonly gid: number } | undefined;

/** A new file of the same directory; of the mode and owner of `like`, else for this user only. */
function writeBeside(real: string, text: string, like: Like): string {
  const made = `${real}.${randomBytes(6).toString('hex')}.new`;
  const fd = openSync(made, 'wx', 0o600);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += writeSync(fd, bytes, at));
    if (like !== undefined) {
      if (process.getuid?.() === 0) chownSync(made, like.uid, like.gid);
      fchmodSync(fd, like.mode & 0o777);
    }
    fsyncSync(fd);
  } catch (error) {
    rmSync(made, { force: true });
    throw error;
  } finally {
    closeSync(fd);
  }
  return made;
}

function checkSame(real: string, before: string | null): void {
  const now = existsSync(real) ? readFileSync(real) : null;
  const wanted = before === null ? null : Buffer.from(before);
  const isSame = now === null || wanted === null ? now === wanted : now.equals(wanted);
  if (!isSame) throw new CannotEditError('another program changed it meanwhile; try again');
}

/** The kernel's word for it, without the path, which the message names already. */
function reasonOf(error: unknown): string {
  const code = fieldOf(error, 'code');
  if (code === 'EACCES' || code === 'EPERM') return `its directory cannot be written to (${code})`;
  return typeof code === 'string' ? code : String(error);
}

const contextLines = 3;

/** `''` when nothing changes. `null` as a text: there is no file. */
export function mcpConfigDiff(file: string, before: string | null, after: string | null): string {
  if (before === after) return '';
  const [old, made] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < made.length && old[start] === made[start]) start += 1;
  let same = 0;
  const room = Math.min(old.length, made.length) - start;
  while (same < room && old.at(-1 - same) === made.at(-1 - same)) same += 1;
  const from = Math.max(0, start - contextLines);
  const rest = Math.min(same, contextLines);
  const oldEnd = old.length - same;
  const madeEnd = made.length - same;
  const hunk = [
    ...old.slice(from, start).map((line) => ` ${line}`),
    ...old.slice(start, oldEnd).map((line) => `-${line}`),
    ...made.slice(start, madeEnd).map((line) => `+${line}`),
    ...old.slice(oldEnd, oldEnd + rest).map((line) => ` ${line}`),
  ];
  const range = (end: number): string => {
    const count = end + rest - from;
    return `${count === 0 ? from : from + 1},${count}`;
  };
  const name = (text: string | null): string => (text === null ? '/dev/null' : file);
  const names = `--- ${name(before)}\n+++ ${name(after)}`;
  return `${names}\n@@ -${range(oldEnd)} +${range(madeEnd)} @@\n${hunk.map(shown).join('')}`;
}

/** Lines with their ends. */
const linesOf = (text: string | null): string[] => text?.match(/[^\n]*\n|[^\n]+$/g) ?? [];

const shown = (line: string): string =>
  line.endsWith('\n') ? line : `${line}\n\\ No newline at end of file\n`;

type Keys = readonly string[];
type Entry = Readonly<Record<string, string | readonly string[]>>;

/** How an entry of a file is read, set and removed. @throws CannotEdit, from each */
interface ConfigEditor {
  /** `undefined`: there is none. */
  read(text: string, keys: Keys): unknown;
  set(text: string, keys: Keys, entry: Entry): string;
  remove(text: string, keys: Keys): string;
}

export const configEditors: Readonly<Record<ConfigFormat, ConfigEditor>> = {
  json: { read: readJsonAt, set: setJsonAt, remove: removeJsonAt },
  toml: {
    read: readTomlAt,
    set: (text, keys, entry) => {
      const eol = text.includes('\r\n') ? '\r\n' : '\n';
      return setTomlAt(text, keys, tomlSection(keys, entry, eol));
    },
    remove: removeTomlAt,
  },
  yaml: { read: refuseYaml, set: newYamlText, remove: refuseYaml },
};

function refuseYaml(): never {
  throw new CannotEditError('YAML is only printed');
}

/** Every JSON value is a YAML value, so JSON's quoting works. */
function newYamlText(text: string, keys: Keys, entry: Entry): string {
  if (text !== '') refuseYaml();
  const indent = (depth: number): string => '  '.repeat(depth);
  const path = keys.map((key, at) => {
    return `${indent(at)}${at === keys.length - 1 ? JSON.stringify(key) : key}:\n`;
  });
  const members = Object.entries(entry).map(([key, value]) => {
    return `${indent(keys.length)}${key}: ${JSON.stringify(value)}\n`;
  });
  return [...path, ...members].join('');
}

/** The whole text that puts `entry` into an empty file. */
export function mcpConfigSnippet(
  location: McpConfigLocation,
  name: string,
  entry: McpEntry,
): string {
  const { format, keys, extra } = location;
  return configEditors[format].set('', [...keys, name], { ...extra, ...entry });
}
