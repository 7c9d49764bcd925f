/**
 * The daemon: the only place where the parts are wired together.
 *
 *   serve [--socket-path P] [--json] [--http ADDRESS:PORT [--http-cert F --http-key F]
 *         [--http-host NAME]… [--http-origin URL]…] …
 *         [--idle-exit]
 *   stdio [--ephemeral] …
 * both: [--workspace-root DIR]… [--projects] [--policy NAME|FILE] [--config FILE] [--env-mode MODE]
 *       [--bound KEY=N]…
 *
 * An ephemeral daemon stores nothing: its runner and all its commands end when its stdin ends.
 */
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { legacyVariableNotices } from '../configuration/legacy-variables.ts';
import { closeInherited } from '../runner/descriptors.ts';
import { version } from '../protocol/version.ts';
import { parseDaemonArgs, type DaemonArgs } from './args.ts';
import { takeInheritedSocket, type InheritedSocket } from './transport/inherited-socket.ts';
import { openSocketTransport, serveStream } from './transport/listen.ts';
import { olderSocketNotice } from './transport/socket.ts';
import { readHttpFlags, type HttpSettings } from './http/address.ts';
import { Transports } from './transports.ts';
import { logProblem } from './open-basis.ts';
import { openCore, type OpenedDaemon } from './open-core.ts';
import { OwnEnvironment } from './own-environment.ts';
import { hasDebuggerFlag, hardenProcess } from './process-hardening.ts';
import { openStateDir } from './paths.ts';
import { shouldTakeAlways } from './secrets/open-secrets.ts';

const log = (text: string): void => void process.stderr.write(`trl: ${text}\n`);

async function main(argv: readonly string[]): Promise<void> {
  const inherited = takeInheritedSocket(process.env);
  closeInherited(inherited === null ? [] : [inherited.fd]);
  // Node would pass it to every helper, and no helper may receive a variable of this process.
  delete process.env['NODE_V8_COVERAGE'];
  const own = OwnEnvironment.open();
  const given = parseDaemonArgs(argv, own.env);
  const args = inherited === null ? given : { ...given, socketPath: inherited.path };
  const http = readHttpFlags(args.http, own.env['TRL_AUTH_TOKEN']);
  // This comes first to keep the variables visible as briefly as possible, and away from all child
  // processes. A process that replaces itself would lose an inherited socket.
  const again = args.verb === 'serve' && inherited === null;
  logProblem(own.take(shouldTakeAlways, again), log);
  for (const found of await hardenProcess(hasDebuggerFlag(own.env))) log(found);
  process.umask(0o077);
  legacyVariableNotices(own.env).forEach(log);
  const stateDir = openStateDir(args.ephemeral);
  try {
    const opened = await openCore({ args, own, stateDir, log });
    await opened.core.adopt();
    await serve(args, opened, { inherited, http });
    await opened.close();
  } finally {
    if (args.ephemeral) rmSync(stateDir, { recursive: true, force: true });
  }
}

/** Serves until stdin ends (stdio) or a signal requests a stop. */
async function serve(
  args: DaemonArgs,
  opened: OpenedDaemon,
  { inherited, http }: { inherited: InheritedSocket | null; http: HttpSettings | null },
): Promise<void> {
  const { core, socketLocation: place, log: masked } = opened;
  const { asked, hurry } = awaitSignals();
  const options = { runtime: core, version: version(), log: masked };
  if (place === null) {
    const { stdin: input, stdout: output } = process;
    const left = serveStream({ ...options, input, output });
    const how = await Promise.race([left.then(() => 'close' as const), asked]);
    if (how === 'stop' && !args.ephemeral) await core.stop(hurry);
    await core.close();
    return;
  }
  const transports = new Transports(opened, options);
  // HTTP opens before the socket, so that a client that finds the socket finds both.
  const origin = http === null ? null : await transports.open(http);
  const socket = await openSocketTransport({ ...options, place, inherited });
  const { socketPath } = socket;
  const { version: own } = options;
  const web = origin === null ? {} : { http: origin };
  const said = args.json
    ? JSON.stringify({ socket_path: socketPath, pid: process.pid, version: own, ...web })
    : [`listening on ${socketPath}`, ...Object.values(web).map((one) => `HTTP on ${one}`)].join(
        '\n',
      );
  process.stdout.write(`${said}\n`);
  const elsewhere = olderSocketNotice(socketPath);
  if (elsewhere !== null) masked(elsewhere);
  const isUsed = (): boolean =>
    socket.connections > 0 || transports.isUsed || core.stats().active_sessions > 0;
  const how = await Promise.race([asked, unused(isUsed, opened.idleExitMs)]);
  socket.stop();
  transports.stop();
  await (how === 'stop' ? core.stop(hurry) : core.leave());
  await core.close();
  await socket.close();
  await transports.close();
}

/** Resolves after a period without use; never resolves if the daemon does not exit when idle. */
async function unused(isUsed: () => boolean, idleExitMs: number | null): Promise<'leave'> {
  if (idleExitMs === null) return new Promise(() => {});
  const pollMs = Math.min(idleExitMs, 1_000);
  for (let since = Date.now(); Date.now() - since < idleExitMs;) {
    await sleep(pollMs, null, { ref: false });
    if (isUsed()) since = Date.now();
  }
  return 'leave';
}

/**
 * A terminal and a service manager may each send a signal for a single request of a person. Signals
 * within this time, in `ms`, count as one.
 */
const sameMs = 500;

/**
 * SIGTERM and SIGINT end all commands, a second signal at once. SIGUSR2 leaves the commands to the
 * next daemon.
 */
function awaitSignals(): { asked: Promise<'stop' | 'leave'>; hurry: AbortSignal } {
  const hurry = new AbortController();
  const { promise, resolve } = Promise.withResolvers<'stop' | 'leave'>();
  let since = Infinity;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      if (Date.now() - since > sameMs) hurry.abort();
      since = Math.min(since, Date.now());
      resolve('stop');
    });
  }
  process.on('SIGUSR2', () => resolve('leave'));
  return { asked: promise, hurry: hurry.signal };
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  log(error instanceof Error ? error.message : String(error));
  process.exit(125);
}
