/** Asks the service manager of this user, systemd or launchd, where there is one. */
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import path from 'node:path';
import { TrlError } from '../errors.ts';
import { launchdAgentLabel, isOwnUnitFile, launchAgent, serviceUnit } from './daemon-units.ts';
import { socketUnit, systemdUnitName } from './daemon-units.ts';
import type { ServiceDefinition } from './daemon-units.ts';

const answerMs = 30_000;
const logBytesMax = 64 * 1024 * 1024;
const fileBytesMax = 64 * 1024;

/** One file of a service. */
export interface UnitFile {
  readonly file: string;
  readonly text: string;
}

export interface ServiceManager {
  readonly name: 'systemd' | 'launchd';
  filesOf(service: ServiceDefinition): UnitFile[];
  /** Why it cannot be asked, one clause; `null`: it can. */
  problem(): string | null;
  installed(): boolean;
  install(service: ServiceDefinition): void;
  uninstall(): void;
  start(): void;
  stop(): void;
  /** The number of the process, or `null` when it does not run. */
  pid(): number | null;
  logs(count: number): string;
}

/** The manager that this system has by its kind, whether it runs or not. */
export const detectServiceManager = (): ServiceManager =>
  process.platform === 'darwin' ? launchd() : systemd();

function systemd(): ServiceManager {
  const home = process.env['XDG_CONFIG_HOME'] ?? '';
  const config = path.isAbsolute(home) ? home : path.join(homedir(), '.config');
  const units = path.join(config, 'systemd/user');
  const files = ['socket', 'service'].map((kind) => path.join(units, `${systemdUnitName}.${kind}`));
  const [socketFile = '', serviceFile = ''] = files;
  const both = [`${systemdUnitName}.socket`, `${systemdUnitName}.service`];
  const ask = (...args: string[]): string => done('systemctl', ['--user', ...args]);
  return {
    name: 'systemd',
    filesOf: (service) => [
      { file: socketFile, text: socketUnit(service) },
      { file: serviceFile, text: serviceUnit(service) },
    ],
    problem: () => {
      const { error, status, stdout } = run('systemctl', ['--user', 'is-system-running']);
      if (error !== undefined) return 'there is no systemctl';
      const state = stdout.trim();
      // A system of which some unit failed still runs.
      const isUp = status === 0 || ['degraded', 'starting', 'initializing'].includes(state);
      return isUp
        ? null
        : "systemd does not run for this user (no session bus, or not this user's)";
    },
    installed: () => files.every((file) => stateOf(file) === 'ours'),
    install: (service) => {
      write(systemd().filesOf(service));
      ask('daemon-reload');
      ask('enable', '--now', `${systemdUnitName}.socket`);
    },
    uninstall: () => {
      ask('disable', '--now', ...both);
      for (const file of files) rmSync(file, { force: true });
      ask('daemon-reload');
    },
    start: () => void ask('start', ...both),
    stop: () => void ask('stop', ...both),
    pid: () => {
      const args = [
        '--user',
        'show',
        '--property=MainPID',
        '--value',
        `${systemdUnitName}.service`,
      ];
      return Number(run('systemctl', args).stdout) || null;
    },
    logs: (count) => {
      const which = [`--unit=${systemdUnitName}.service`, `--lines=${count}`];
      return done('journalctl', ['--user', '--no-pager', '--output=cat', ...which]);
    },
  };
}

function launchd(): ServiceManager {
  const file = path.join(homedir(), 'Library/LaunchAgents', `${launchdAgentLabel}.plist`);
  const domain = `gui/${userInfo().uid}`;
  const ask = (...args: string[]): string => done('launchctl', args);
  return {
    name: 'launchd',
    filesOf: (service) => [{ file, text: launchAgent(service) }],
    problem: () =>
      run('launchctl', ['print', domain]).status === 0 ? null : 'there is no session',
    installed: () => stateOf(file) === 'ours',
    install: (service) => {
      run('launchctl', ['bootout', domain, file]);
      write(launchd().filesOf(service));
      ask('bootstrap', domain, file);
    },
    uninstall: () => {
      run('launchctl', ['bootout', domain, file]);
      rmSync(file, { force: true });
    },
    start: () => {
      if (run('launchctl', ['print', `${domain}/${launchdAgentLabel}`]).status !== 0) {
        ask('bootstrap', domain, file);
      }
      ask('kickstart', `${domain}/${launchdAgentLabel}`);
    },
    stop: () => void ask('bootout', domain, file),
    pid: () => {
      const { stdout } = run('launchctl', ['print', `${domain}/${launchdAgentLabel}`]);
      return Number(/\bpid = (\d+)/.exec(stdout)?.[1]) || null;
    },
    logs: () => '',
  };
}

/** What is at the place of a file of a service. */
function stateOf(file: string): 'ours' | 'none' | 'a link' | 'no file' | 'of somebody else' {
  const found = lstatSync(file, { throwIfNoEntry: false });
  if (found === undefined) return 'none';
  // Also how systemd masks a unit: what it leads to is nothing to write to.
  if (found.isSymbolicLink()) return 'a link';
  if (!found.isFile()) return 'no file';
  const isReadable = found.size <= fileBytesMax;
  return isReadable && isOwnUnitFile(readFileSync(file, 'utf8')) ? 'ours' : 'of somebody else';
}

/** @throws TrlError INVALID_PARAMS where another file is in the way; then none is written */
function write(files: readonly UnitFile[]): void {
  for (const { file } of files) {
    const state = stateOf(file);
    if (state === 'ours' || state === 'none') continue;
    const message = `Cannot install the service: "${file}" is ${state}, and is left as it is`;
    throw new TrlError('INVALID_PARAMS', `${message}; move it away first`);
  }
  for (const { file, text } of files) {
    mkdirSync(path.dirname(file), { recursive: true });
    rmSync(`${file}.new`, { force: true });
    writeFileSync(`${file}.new`, text, { mode: 0o644, flag: 'wx' });
    renameSync(`${file}.new`, file);
  }
}

const run = (program: string, args: readonly string[]) =>
  spawnSync(program, args, { encoding: 'utf8', timeout: answerMs, maxBuffer: logBytesMax });

/** @throws TrlError BACKEND_UNAVAILABLE with what it said */
function done(program: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = run(program, args);
  if (status === 0) return stdout;
  const why = error === undefined ? stderr.trim() || `exit ${status}` : String(error);
  throw new TrlError('BACKEND_UNAVAILABLE', `Cannot run "${program} ${args.join(' ')}": ${why}`);
}
