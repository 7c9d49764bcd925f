/**
 * Where the program of a tool lies. One that commands of sessions could write, or put another one
 * before, would hand the tool's variables to whoever did.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** What of the host decides. */
export interface ProgramSearch {
  /** `PATH` of commands. */
  readonly path: string;
  /** Directories that commands of sessions may write, by real path. */
  readonly writable: readonly string[];
}

/** The place through which commands could choose what runs as `program`; `null`: there is none. */
export function findHijackablePath(program: string, { path: searched, writable }: ProgramSearch) {
  const places = program.includes('/') ? [program] : lookedAt(program, searched.split(':'));
  return places.find((place) => isBelow(place, writable)) ?? null;
}

/** Where a name is looked for, up to where it is found. */
function lookedAt(name: string, directories: readonly string[]): string[] {
  const tried = directories.map((one) => path.join(one === '' ? '.' : one, name));
  const found = tried.findIndex(isProgram);
  return found === -1 ? tried : tried.slice(0, found + 1);
}

/** A relative place is another one wherever the command starts: in the workspace, too. */
function isBelow(place: string, trees: readonly string[]): boolean {
  if (!path.isAbsolute(place)) return true;
  const named = path.resolve(place);
  const ways = [named, path.join(realOf(path.dirname(named)), path.basename(named)), realOf(named)];
  return trees.some((tree) => ways.some((way) => way === tree || way.startsWith(`${tree}/`)));
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

function realOf(name: string): string {
  try {
    return realpathSync(name);
  } catch {
    return name;
  }
}
