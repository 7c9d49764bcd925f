/** The runtime as a service of this user: units of systemd, an agent of launchd. Text only. */
import { TrlError } from '../errors.ts';

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

export const systemdUnitName = 'trl';
export const launchdAgentLabel = 'dev.terminal-runtime-layer.trl';

/** Whether a file of that name was written here; somebody else may have a `trl.service`, too. */
export const isOwnUnitFile = (text: string): boolean =>
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
