/** `trl serve` and `trl stdio`: this process becomes the daemon. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { daemonCommand, daemonEnvironment, endOnDemand } from '../local/index.ts';
import type { CliArguments } from './args.ts';
import type { FlagName } from './flags.ts';
import { daemonFlags, httpFlags } from './verb.ts';

export async function runServe(args: CliArguments): Promise<number> {
  return becomeDaemon('serve', args);
}

export async function runStdio(args: CliArguments): Promise<number> {
  return becomeDaemon('stdio', args);
}

async function becomeDaemon(verb: 'serve' | 'stdio', args: CliArguments): Promise<number> {
  const socketPath = args.text('socket-path');
  if (verb === 'serve') await endOnDemand();
  const argv = [
    ...daemonCommand(),
    verb,
    ...(socketPath === undefined ? [] : ['--socket-path', socketPath]),
    ...flagsOf(args, daemonFlags),
    ...(verb === 'serve' ? flagsOf(args, httpFlags) : []),
    ...(args.has('json') ? ['--json'] : []),
  ];
  if (process.execve !== undefined) {
    process.execve(process.execPath, [process.execPath, ...argv], daemonEnvironment());
  }
  return supervise(argv);
}

const flagsOf = (args: CliArguments, names: readonly FlagName[]): string[] =>
  names.flatMap((name) => args.all(name).flatMap((value) => [`--${name}`, value]));

/** Where a process cannot be replaced: a child with the same ends, to which signals pass. */
async function supervise(argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, argv, {
    stdio: 'inherit',
    env: daemonEnvironment(),
  });
  const pass = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) {
    process.on(signal, pass);
  }
  await once(child, 'exit');
  return child.signalCode === null
    ? (child.exitCode ?? 125)
    : 128 + constants.signals[child.signalCode];
}
