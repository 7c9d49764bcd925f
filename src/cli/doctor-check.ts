/** One thing that `trl doctor` looked at, and how it looks at things. */
import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
const probeMs = 5_000;

export interface DoctorCheck {
  readonly name: string;
  /**
   * `missing`: nothing works without it. `optional`: something is weaker or slower without it.
   * `warning`: it works, and a person should change it.
   */
  readonly state: 'ok' | 'missing' | 'optional' | 'warning';
  readonly found: string;
  /** One command, or `null` when there is nothing to do. */
  readonly fix: string | null;
}

export const passedCheck = (name: string, found: string): DoctorCheck => ({
  name,
  state: 'ok',
  found,
  fix: null,
});

/** Whether `program` runs; what it says first of itself. */
export async function checkProgram(
  name: string,
  without: 'missing' | 'optional',
  install: string,
): Promise<DoctorCheck> {
  const line = await readFirstLine(name, ['--version']);
  if (line !== null) return passedCheck(name, line);
  return { name, state: without, found: 'not found in PATH', fix: withSudo(install) };
}

/** What a program prints first; `null` when it cannot be run or fails. */
export async function readFirstLine(file: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout } = await run(file, [...args], { timeout: probeMs });
    return stdout.split('\n').find((line) => line.trim() !== '') ?? '';
  } catch {
    return null;
  }
}

export const withSudo = (command: string): string =>
  process.getuid?.() === 0 ? command : `sudo ${command}`;

export function isWritablePath(file: string): boolean {
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** `''` when it cannot be read. */
export function readTextOrEmpty(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
