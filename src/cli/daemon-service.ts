/** Asks the service manager of this user, systemd or launchd, where there is one. */
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import path from 'node:path';
import { TrlError } from '../errors.ts';

const answerMs = 30_000;
const logBytesMax = 64 * 1024 * 1024;
const fileBytesMax = 64 * 1024;

/** One file of a service. */
interface UnitFile {
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

// The runtime as a service of this user: units of systemd, an agent of launchd. Text only.

/** What a service starts. */
export interface ServiceDefinition {
  /** The program and its arguments, paths absolute. */
  readonly argv: readonly string[];
  /** Variables that say where things lie; never a value that is secret. */
  readonly env: Readonly<Record<string, string>>;
  /** Where clients connect; `null`: the place they look at by themselves. */
  readonly socketPath: string | null;
  /** Where launchd writes what the daemon says. */
  readonly logFile: string;
}

const systemdUnitName = 'trl';
const launchdAgentLabel = 'dev.terminal-runtime-layer.trl';

/** Whether a file of that name was written here; somebody else may have a `trl.service`, too. */
const isOwnUnitFile = (text: string): boolean =>
  /^Description=(?:Socket of the )?Terminal Runtime Layer$/m.test(text) ||
  text.includes(`<key>Label</key><string>${launchdAgentLabel}</string>`);

/**
 * `trl.socket`: systemd listens, and starts the daemon for the first client. The mode is that of
 * a socket of the daemon's own; it refuses one that is more open.
 */
export function socketUnit({ socketPath }: ServiceDefinition): string {
  const path = socketPath === null ? '%t/trl.sock' : listened(socketPath);
  return `[Unit]
Description=Socket of the Terminal Runtime Layer

[Socket]
ListenStream=${path}
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
`;
}

/**
 * `trl.service`. Nothing of what hardens a unit is in it: bubblewrap makes namespaces and mounts
 * itself, and NoNewPrivileges, RestrictNamespaces, PrivateTmp, ProtectHome or a system call filter
 * would break it, or hide the workspaces.
 */
export function serviceUnit({ argv, env }: ServiceDefinition): string {
  const variables = Object.entries(env).map(([name, value]) => {
    return `Environment=${quoted(`${name}=${value}`, false)}\n`;
  });
  return `[Unit]
Description=Terminal Runtime Layer
Requires=trl.socket
After=trl.socket

[Service]
Type=exec
ExecStart=${argv.map((word, at) => (at === 0 ? program(word) : quoted(word, true))).join(' ')}
${variables.join('')}# TRL_AUTH_TOKEN and the like: a file of this user's alone, mode 0600.
EnvironmentFile=-%E/trl/daemon.env
# Commands outlive a crash in their runner, which the next daemon takes over; a stop ends them.
KillMode=process
TimeoutStopSec=30
Restart=on-failure
# Processes and memory of commands are counted in groups below this one.
Delegate=yes
UMask=0077
`;
}

/** `~/Library/LaunchAgents/….plist`; launchd passes no socket to a program without native code. */
export function launchAgent({ argv, env, logFile }: ServiceDefinition): string {
  const text = (value: string): string => `<string>${xml(value)}</string>`;
  const words = argv.map((word) => `    ${text(word)}\n`).join('');
  const variables = Object.entries(env)
    .map(([name, value]) => `    <key>${xml(name)}</key>${text(value)}\n`)
    .join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${text(launchdAgentLabel)}
  <key>ProgramArguments</key>
  <array>
${words}  </array>
  <key>EnvironmentVariables</key>
  <dict>
${variables}  </dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
  <key>Umask</key><integer>63</integer>
  <key>StandardOutPath</key>${text(logFile)}
  <key>StandardErrorPath</key>${text(logFile)}
</dict>
</plist>
`;
}

/** A word of a unit: in quotes, with what systemd would expand made plain. */
function quoted(word: string, isCommand: boolean): string {
  const plain = escaped(word).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  // Variables are expanded in commands only.
  return `"${isCommand ? plain.replaceAll('$', '$$$$') : plain}"`;
}

/** The program itself: no variable is expanded in it, and systemd takes no quoting for a part. */
function program(path: string): string {
  if (!/["'\\]/.test(path)) return quoted(path, false);
  const message = `Cannot write a unit: systemd starts no program with quotes or "\\" in its path`;
  throw new TrlError('INVALID_PARAMS', `${message}, as in ${JSON.stringify(path)}`);
}

/** Stands without quotes: at its end a backslash would join the next line to it. */
function listened(path: string): string {
  if (!/\\$|^\s|\s$/u.test(path)) return escaped(path);
  const message = `Cannot write a unit: the socket's path ${JSON.stringify(path)} ends in a`;
  throw new TrlError('INVALID_PARAMS', `${message} backslash or a space`);
}

function escaped(text: string): string {
  if (/[\p{Cc}]/u.test(text)) {
    const message = `Cannot write a unit: ${JSON.stringify(text)} has a control character`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return text.replaceAll('%', '%%');
}

function xml(text: string): string {
  if (/[\p{Cc}\p{Cs}\ufffe\uffff]/u.test(text)) {
    const message = `Cannot write an agent: ${JSON.stringify(text)} has a control character`;
    throw new TrlError('INVALID_PARAMS', message);
  }
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
