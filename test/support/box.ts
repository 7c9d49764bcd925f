/** Runs a shell command in a planned box, without the runner: for tests of the box itself. */
import { spawn } from 'node:child_process';
import { Duplex } from 'node:stream';
import type { Box } from '../../src/command.ts';
import { helperEnvironment, openHolder, type OpenHolder } from '../../src/runner/holder.ts';

export type BubblewrapBox = Extract<Box, { kind: 'bubblewrap' }>;

export interface Answer {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Pid 1 of the box: keeps the shell's exit code and ends everything with it. */
const shim = 'exec 6<&-; cd "$1" || exit 125; shift; "$@"; exit $?';

/** The command arrives on a socket, which can be read but not opened by name. */
const boot = 'IFS= read -r -d "" -u 7 REPLY; exec 7<&-; eval "$REPLY"';

/** Runs `command` with bash in the open holder of `box`. */
export function runIn(
  holder: OpenHolder,
  box: BubblewrapBox,
  command: string,
  options: RunOptions = {},
): Promise<Answer> {
  const variables = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const [nsenter = '', ...enter] = holder.enterArgs();
  const args = [...enter, box.holder.tools.bwrap, ...box.args, '--', '/bin/sh', '-c', shim, 'sh'];
  const inside = [options.cwd ?? '/tmp', '/usr/bin/env', '-i', 'PATH=/usr/bin:/bin', ...variables];
  const bash = ['/bin/bash', '--norc', '--noprofile', '-c', boot, 'bash'];
  const child = spawn(nsenter, [...args, ...inside, ...bash], {
    env: helperEnvironment,
    stdio: ['pipe', 'pipe', 'pipe', 'ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  });
  const pipes: readonly unknown[] = child.stdio;
  feed(pipes[6], Buffer.from(box.seccomp, 'base64'));
  feed(pipes[7], Buffer.from(command));
  feed(pipes[0], Buffer.from(options.stdin ?? ''));
  return new Promise((resolve, reject) => {
    let stdout = '';
    let stderr = '';
    child.stdout?.on('data', (bytes: Buffer) => (stdout += bytes.toString('utf8')));
    child.stderr?.on('data', (bytes: Buffer) => (stderr += bytes.toString('utf8')));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** Opens the box, runs one command, closes it. */
export async function runOnce(
  box: BubblewrapBox,
  command: string,
  options: RunOptions = {},
): Promise<Answer> {
  const holder = await openHolder(box.holder);
  try {
    return await runIn(holder, box, command, options);
  } finally {
    holder.close();
  }
}

function feed(pipe: unknown, bytes: Uint8Array): void {
  if (!(pipe instanceof Duplex) && !isWritable(pipe)) return;
  pipe.on('error', () => undefined);
  pipe.end(bytes);
}

function isWritable(value: unknown): value is NodeJS.WritableStream {
  return typeof value === 'object' && value !== null && 'end' in value && 'on' in value;
}
