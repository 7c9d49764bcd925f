/**
 * Checks where the program of a tool is. If commands of sessions could overwrite the program, or
 * put another one before it in `PATH`, they could get the tool's variables.
 */
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

/** The facts about the host that decide. */
export interface ProgramSearch {
  /** `PATH` of commands. */
  readonly path: string;
  /** Real paths of directories that commands of sessions may write. */
  readonly writable: readonly string[];
}

/** The path through which commands could replace `program`; `null` if there is none. */
export function findHijackablePath(program: string, { path: searched, writable }: ProgramSearch) {
  const places = program.includes('/') ? [program] : lookedAt(program, searched.split(':'));
  return places.find((place) => isBelow(place, writable)) ?? null;
}

/** The paths at which the name is looked up, up to the first match. */
function lookedAt(name: string, directories: readonly string[]): string[] {
  const tried = directories.map((one) => path.join(one === '' ? '.' : one, name));
  const found = tried.findIndex(isProgram);
  return found === -1 ? tried : tried.slice(0, found + 1);
}

/** A relative path depends on the working directory, which may be in the workspace. */
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
