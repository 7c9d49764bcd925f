/**
 * `trl daemon`: the runtime in the background. As a service of systemd or launchd where that runs
 * and it was installed; else as a process of its own.
 */
import { existsSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TrlError, isTrlError } from '../errors.ts';
import {
  answers,
  connectLocal,
  daemonCommand,
  defaultSocketPath,
  endOnDemand,
  killMs,
  logFile,
  pollMs,
  processNow,
  runningDaemon,
  startProcess,
  stateDir,
  stopProcess,
  tailOf,
} from '../local/index.ts';
import type { CliArguments } from './args.ts';
import { detectServiceManager } from './daemon-service.ts';
import type { ServiceDefinition, ServiceManager } from './daemon-service.ts';
import { escapeHiddenText, printJson, printLines, printMessage } from './print.ts';
import { countFlagHint, parseCount } from './units.ts';
import { httpFlags } from './verb.ts';
import { fieldOf, isObject } from '../json-shape.ts';

const notRunning = 3;
const linesUsual = 100;
const linesMost = 100_000;
const answerMs = 5_000;

export async function runDaemonInstall(args: CliArguments): Promise<number> {
  const manager = detectServiceManager();
  const service = serviceOf(args);
  if (args.has('print')) {
    const files = manager.filesOf(service);
    if (args.has('json')) printJson({ manager: manager.name, files });
    else for (const { file, text } of files) process.stdout.write(`# ${file}\n${text}\n`);
    return 0;
  }
  const problem = manager.problem();
  if (problem !== null) {
    const hint =
      'run it without one: trl daemon start; or see the files: trl daemon install --print';
    const message = `Cannot install the service: ${problem}; ${hint}`;
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }
  await endOnDemand();
  if (runningDaemon() !== null) {
    const message = 'Cannot install the service: a runtime runs without one; run: trl daemon stop';
    throw new TrlError('BACKEND_UNAVAILABLE', message);
  }
  manager.install(service);
  for (const { file } of manager.filesOf(service)) printMessage(`wrote ${file}`);
  printMessage(`${manager.name} starts the runtime when it is needed`);
  if (args.has('json')) printJson({ manager: manager.name, installed: true });
  return 0;
}

export async function runDaemonUninstall(args: CliArguments): Promise<number> {
  const manager = detectServiceManager();
  const wasInstalled = manager.installed();
  if (wasInstalled) manager.uninstall();
  printMessage(
    wasInstalled ? 'the service is gone; what the runtime keeps stays' : 'it is not installed',
  );
  if (args.has('json')) printJson({ manager: manager.name, installed: false });
  return 0;
}

export async function runDaemonStart(args: CliArguments): Promise<number> {
  const socketPath = socketOf(args);
  const manager = serving();
  await endOnDemand();
  if (manager === null && (await answers(socketPath))) {
    printMessage(`a runtime listens on ${socketPath} already`);
    return runDaemonStatus(args);
  }
  if (manager !== null) manager.start();
  else {
    const { argv } = serviceOf(args);
    const { pid } = await startProcess([...argv, '--socket-path', socketPath], socketPath);
    printMessage(`started (process ${pid}), listening on ${socketPath}; it logs to ${logFile()}`);
    // Who names directories and works in another is refused there.
    const roots = rootsOf(args).map((root) => path.resolve(root));
    printMessage(
      `sessions may work ${roots.length === 0 ? 'in any project' : `under ${roots.join(', ')}`}`,
    );
  }
  return args.has('json') ? runDaemonStatus(args) : 0;
}

export async function runDaemonStop(args: CliArguments): Promise<number> {
  const keeps = args.has('keep-running');
  const manager = serving();
  const record = runningDaemon();
  const pid = record?.pid ?? manager?.pid() ?? null;
  if (pid !== null && (manager === null || keeps)) {
    await stopProcess(record ?? processNow(pid), keeps ? 'SIGUSR2' : 'SIGTERM');
  }
  if (manager !== null) manager.stop();
  else if (record === null && (await answers(socketOf(args)))) {
    const message = `Cannot stop the runtime at "${socketOf(args)}": it was started elsewhere`;
    throw new TrlError('BACKEND_UNAVAILABLE', `${message}; end it there, as with Ctrl-C`);
  }
  const commands = pid === null ? [] : takeStoppedCommands(pid);
  const leftover = !keeps && (await stopOrphanedRunner());
  const wasRunning = manager !== null || record !== null;
  if (args.has('json')) printJson({ stopped: wasRunning, commands, leftover });
  else {
    for (const one of commands) printMessage(lineOf(one));
    const rest = leftover ? '; what an earlier one left running was ended' : '';
    printMessage(`${wasRunning ? 'stopped' : 'it does not run'}${rest}`);
  }
  return 0;
}

/** `ended x-… in session "build": make`. */
function lineOf({
  exec_id: id,
  session_id: session,
  session: name,
  command,
  end,
}: StoppedCommandRecord) {
  const where = name === null ? session : JSON.stringify(name);
  return `${end === 'left' ? 'runs on:' : end} ${id} in session ${where}: ${command}`;
}

/** Exit code 0 while it runs, else 3. */
export async function runDaemonStatus(args: CliArguments): Promise<number> {
  const manager = detectServiceManager();
  const installed = manager.installed();
  const record = runningDaemon();
  const socketPath = args.text('socket-path') ?? record?.socketPath ?? defaultSocketPath();
  const listens = await answers(socketPath);
  const found = listens ? await ask(socketPath) : silent;
  const isUp = found.version !== null;
  const started = record?.program === undefined ? 'trl daemon start' : 'on demand';
  const by = serving() !== null ? manager.name : record !== null ? started : null;
  const pid = record?.pid ?? (by === manager.name ? manager.pid() : null);
  const told = { running: isUp, socket_path: socketPath, pid, started_by: by, installed, ...found };
  if (args.has('json')) printJson(told);
  else if (listens && !isUp) {
    const seconds = answerMs / 1_000;
    printMessage(
      `what listens on ${socketPath} does not answer within ${seconds} s; see: trl daemon logs`,
    );
  } else if (!isUp) printMessage(`nothing listens on ${socketPath}; start it: trl daemon start`);
  else {
    const process_ = pid === null ? '' : `, process ${pid}`;
    printMessage(`${found.version} listens on ${socketPath}${process_}, up ${found.uptime_s} s`);
  }
  return isUp ? 0 : notRunning;
}

export async function runDaemonLogs(args: CliArguments): Promise<number> {
  const wanted = args.read('tail', parseCount, countFlagHint) ?? linesUsual;
  const count = Math.min(wanted, linesMost);
  const manager = serving();
  const text = manager?.name === 'systemd' ? manager.logs(count) : tailOf(logFile(), count);
  const lines = text.split('\n').slice(0, -1);
  if (args.has('json')) printJson({ lines });
  // Names that others chose are in it.
  else for (const line of lines) printLines([escapeHiddenText(line)]);
  return 0;
}

const silent = { version: null, uptime_s: null };

/** One that stands still takes connections all the same. */
async function ask(
  socketPath: string,
): Promise<{ version: string; uptime_s: number } | typeof silent> {
  const signal = AbortSignal.timeout(answerMs);
  try {
    await using client = await connectLocal({ socketPath, signal });
    const { version, uptime_s } = await client.call('system.ping', {}, { signal });
    return { version, uptime_s };
  } catch (error) {
    if (signal.aborted || isTrlError(error, 'BACKEND_UNAVAILABLE')) return silent;
    throw error;
  }
}

/** The manager, where the service is installed and it can be asked. */
function serving(): ServiceManager | null {
  const manager = detectServiceManager();
  return manager.installed() && manager.problem() === null ? manager : null;
}

const socketOf = (args: CliArguments): string =>
  path.resolve(args.text('socket-path') ?? defaultSocketPath());

/** Where things lie is part of a service: it has no shell from which it could inherit that. */
const placeVariables = ['XDG_STATE_HOME', 'XDG_CONFIG_HOME', 'TRL_POLICY'];

/** None: the projects that are worked in. */
const rootsOf = (args: CliArguments): readonly string[] => args.all('workspace-root');

function serviceOf(args: CliArguments): ServiceDefinition {
  const roots = rootsOf(args);
  const socketPath = args.text('socket-path') ?? process.env['TRL_SOCKET_PATH'] ?? '';
  for (const root of roots) checkRoot(root);
  const flags = (['policy', 'config', 'env-mode'] as const).flatMap((name) => {
    const value = args.text(name);
    return value === undefined ? [] : [`--${name}`, name === 'env-mode' ? value : asPath(value)];
  });
  const bounds = args.all('bound').flatMap((one) => ['--bound', one]);
  // Certificates are files; the rest are names and addresses.
  const http = httpFlags.flatMap((name) =>
    args.all(name).flatMap((value) => {
      const isFile = name === 'http-cert' || name === 'http-key';
      return [`--${name}`, isFile ? path.resolve(value) : value];
    }),
  );
  const named = roots.flatMap((root) => ['--workspace-root', path.resolve(root)]);
  const rooted = named.length === 0 ? ['--projects'] : named;
  const env = placeVariables.flatMap((name) => {
    const value = process.env[name] ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  return {
    argv: [process.execPath, ...daemonCommand(), 'serve', ...rooted, ...flags, ...bounds, ...http],
    env: Object.fromEntries(env),
    socketPath: socketPath === '' ? null : path.resolve(socketPath),
    logFile: logFile(),
  };
}

/** A name of a policy stays a name. */
const asPath = (value: string): string =>
  value.includes('/') || existsSync(value) ? path.resolve(value) : value;

/** As the daemon would refuse it, but before a service is written that never starts. */
function checkRoot(root: string): void {
  if (!existsSync(root)) {
    const message = `Cannot use workspace root "${root}": it does not exist`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  const real = realpathSync(root);
  if (!`${stateDir()}/`.startsWith(real === '/' ? real : `${real}/`)) return;
  throw new TrlError(
    'INVALID_PARAMS',
    `Cannot use workspace root "${root}": the runtime keeps "${stateDir()}" in it; ` +
      'name a project directory, or the directory of projects, with --workspace-root',
  );
}

/** The commands that the daemon with this pid ended or left running; reported once. */
function takeStoppedCommands(pid: number): readonly StoppedCommandRecord[] {
  const file = path.join(stateDir(), 'stopped.json');
  try {
    const told: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (fieldOf(told, 'pid') !== pid) return [];
    rmSync(file, { force: true });
    const commands = fieldOf(told, 'commands');
    return Array.isArray(commands) ? commands.flatMap(stoppedIn) : [];
  } catch {
    return [];
  }
}

interface StoppedCommandRecord {
  readonly exec_id: string;
  readonly session_id: string;
  readonly session: string | null;
  readonly command: string;
  readonly end: string;
}

function stoppedIn(value: unknown): StoppedCommandRecord[] {
  if (!isObject(value)) return [];
  const text = (name: string): string => String(fieldOf(value, name) ?? '');
  const session = fieldOf(value, 'session');
  return [
    {
      exec_id: text('exec_id'),
      session_id: text('session_id'),
      session: typeof session === 'string' ? session : null,
      command: text('command'),
      end: text('end'),
    },
  ];
}

/**
 * Ends a runner that no daemon has, as one that was killed leaves it; answers whether there was
 * one. What runs in it gets TERM, and KILL when it does not end.
 */
async function stopOrphanedRunner(): Promise<boolean> {
  const dir = runnerDirectory();
  if (dir === null || isTaken(dir) || leftIn(dir).length === 0) return false;
  const since = Date.now();
  for (const pid of leftIn(dir)) signalTo(pid, 'SIGTERM');
  for (let left = leftIn(dir); left.length > 0; left = leftIn(dir)) {
    const waited = Date.now() - since;
    if (waited > killMs) for (const pid of left) signalTo(pid, 'SIGKILL');
    if (waited > 2 * killMs) {
      const message = `Cannot stop what runs: process ${left.join(', ')} is still there`;
      throw new TrlError('BACKEND_UNAVAILABLE', message);
    }
    await sleep(pollMs);
  }
  return true;
}

/** Whether a daemon is connected to it: one that was started elsewhere has a right to it. */
function isTaken(dir: string): boolean {
  if (process.platform !== 'linux') return true;
  const sockets = readFileSync('/proc/net/unix', 'latin1').split('\n');
  const name = path.join(dir, 'runner.sock');
  // Of a socket's columns the sixth is its state (03: connected), the last its path.
  return sockets.some((line) => line.endsWith(` ${name}`) && line.split(/ +/)[5] === '03');
}

function runnerDirectory(): string | null {
  try {
    const known: unknown = JSON.parse(readFileSync(path.join(stateDir(), 'runner.json'), 'utf8'));
    const dir = fieldOf(known, 'dir');
    return typeof dir === 'string' && path.isAbsolute(dir) ? dir : null;
  } catch {
    return null;
  }
}

/** The runner of a directory, and what it started outside of any sandbox. */
function leftIn(dir: string): number[] {
  const has = (file: string, text: string): boolean => {
    try {
      return readFileSync(file, 'latin1').split('\0').includes(text);
    } catch {
      return false;
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter(
      (name) =>
        has(`/proc/${name}/cmdline`, dir) || has(`/proc/${name}/environ`, `TRL_RUNNER_DIR=${dir}`),
    )
    .map(Number);
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended by itself.
  }
}
