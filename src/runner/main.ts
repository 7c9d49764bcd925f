/**
 * The runner: starts every process, owns its pipes, keeps its output and outlives the daemon.
 *
 * Started as `node runner.js DIR`, with the start message on descriptor 3: one line of JSON
 * `{key, journals_bytes, files_dir, commands_max, sessions_max, linger_ms}` (key: 64 hex). It
 * listens on `DIR/runner.sock` and answers `ready` on descriptor 3. DIR must be ours and 0700. It
 * ends on the request `shutdown`, or when no daemon has been connected for `linger_ms` and nothing
 * runs.
 */
import {
  chmodSync,
  closeSync,
  mkdirSync,
  readSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fieldOf } from '../json-shape.ts';
import { closeInherited } from './descriptors.ts';
import { isMemoryDir, JournalSpace } from './journal.ts';
import { ShownPorts } from './shown-ports.ts';
import { SandboxPool } from './sandbox-pool.ts';
import { DaemonConnection, type RunnerGate } from './daemon-connection.ts';
import type { RunnerService } from './serve-request.ts';
import type { RunnerEvent } from './wire.ts';

interface Start {
  readonly key: Uint8Array;
  readonly journalsBytes: number;
  /** For output that does not fit in memory; `null`: there is none. */
  readonly filesDir: string | null;
  readonly commandsMax: number;
  readonly sessionsMax: number;
  readonly lingerMs: number;
}

const startFd = 3;
/** How often paused commands and the linger time are checked. */
const watchMs = 100;

function readStart(): Start {
  const bytes = Buffer.alloc(64 * 1024);
  let length = 0;
  while (!bytes.subarray(0, length).includes(10)) {
    const count = readSync(startFd, bytes, length, bytes.length - length, null);
    if (count === 0) break;
    length += count;
  }
  const message: unknown = JSON.parse(bytes.subarray(0, length).toString('utf8'));
  bytes.fill(0);
  const get = (name: string): unknown => fieldOf(message, name);
  const key = Buffer.from(String(get('key')), 'hex');
  if (key.length !== 32) throw new Error('the key is not 32 bytes');
  const filesDir = get('files_dir');
  return {
    key,
    journalsBytes: Number(get('journals_bytes')),
    filesDir: typeof filesDir === 'string' ? filesDir : null,
    commandsMax: Number(get('commands_max')),
    sessionsMax: Number(get('sessions_max')),
    lingerMs: Number(get('linger_ms')),
  };
}

/** A directory of this user alone. */
function filesIn({ filesDir }: Start): { readonly dir: string } | null {
  if (filesDir === null) return null;
  try {
    mkdirSync(filesDir, { mode: 0o700, recursive: true });
    checkDir(filesDir);
    return { dir: filesDir };
  } catch {
    // Without the directory, output that does not fit in memory is a counted gap.
    return null;
  }
}

function checkDir(dir: string): void {
  const stat = statSync(dir);
  if (stat.uid !== process.getuid?.() || (stat.mode & 0o077) !== 0) {
    throw new Error(`the directory ${dir} is not ours alone`);
  }
}

const bundle = (name: string): string => join(dirname(fileURLToPath(import.meta.url)), name);
const programs = { redactor: bundle('redactor.js'), egress: bundle('egress.js') };

/** Events go to the connected daemon, if there is one. */
function openPool(
  options: ConstructorParameters<typeof SandboxPool>[0],
  gate: RunnerGate,
): SandboxPool {
  const send = (event: RunnerEvent): void => gate.current?.event(event);
  return new SandboxPool(options, {
    output: (execution) => {
      const { current } = gate;
      if (current === null) return;
      current.followers.pump(execution);
      const lag = current.followers.lag(execution);
      if (lag > execution.journal.memoryMax / 2) execution.setReadingPaused(true);
    },
    progress: (progress) => send({ event: 'progress', progress }),
    waiting: (execution, info) => send({ event: 'waiting', exec_id: execution.id, ...info }),
    toolCall: (execution, call, text) => {
      send({ event: 'call', exec_id: execution.id, call, text });
      return gate.current !== null;
    },
    host: ({ exec, host, port }) => send({ event: 'host', exec_id: exec, host, port }),
    exit: (execution, exit) => {
      const { current } = gate;
      current?.batch(() => {
        current.followers.pump(execution);
        current.event({ event: 'exit', exit });
      });
    },
  });
}

function main(dir: string): void {
  closeInherited([startFd]);
  checkDir(dir);
  const start = readStart();
  const startedAt = Date.now();
  const journals = join(dir, 'journals');
  mkdirSync(journals, { mode: 0o700, recursive: true });
  const inMemory = isMemoryDir(journals);
  const space = new JournalSpace(inMemory ? journals : null, start.journalsBytes, filesIn(start));
  const gate: RunnerGate = { key: start.key, epoch: 0, current: null };
  const socketPath = join(dir, 'runner.sock');
  let idleSince = Date.now();
  const busy = (): boolean => [...pool.executions.values()].some(({ exit }) => exit === null);

  const { commandsMax, sessionsMax } = start;
  const pool = openPool({ dir, space, commandsMax, sessionsMax, ...programs }, gate);
  const exit = (): void => {
    // The directory holds nothing but pipes, the socket and the seccomp program.
    rmSync(dir, { recursive: true, force: true });
    try {
      rmdirSync(dirname(dir));
    } catch {
      // Other runners are in it, or a socket.
    }
    process.exit(0);
  };
  const service: RunnerService = {
    pool,
    ports: new ShownPorts(pool.namespaces),
    welcome: () => ({
      pid: process.pid,
      started_at: startedAt,
      journal: inMemory ? 'tmpfs' : 'ram',
      holds: true,
    }),
    // A daemon that connects gets the progress of output from before.
    onAuthenticated: () => pool.reportProgress(),
    onDisconnected: () => {
      idleSince = Date.now();
      for (const { live } of pool.executions.values()) {
        live?.setReadingPaused(false);
        // No daemon will answer open calls: the next one knows nothing of them.
        live?.calls?.lose();
      }
    },
    shutdown: async () => {
      await pool.shutdown();
      setImmediate(exit);
    },
  };
  const watch = (): void => {
    for (const execution of pool.executions.values()) {
      const lag = gate.current?.followers.lag(execution) ?? 0;
      if (lag <= execution.journal.memoryMax / 4) execution.live?.setReadingPaused(false);
    }
    if (gate.current !== null || busy()) idleSince = Date.now();
    if (Date.now() - idleSince > start.lingerMs) void pool.shutdown().then(exit);
  };
  const server = createServer((stream) => new DaemonConnection(stream, gate, service));
  process.umask(0o077);
  server.listen(socketPath, () => {
    chmodSync(socketPath, 0o600);
    writeSync(startFd, 'ready\n');
    closeSync(startFd);
  });
  setInterval(watch, watchMs);
  // The daemon decides on signals from a terminal or a service manager.
  for (const signal of ['SIGINT', 'SIGHUP', 'SIGPIPE'] as const) process.on(signal, () => {});
  process.on('SIGTERM', () => void pool.shutdown().then(exit));
}

const [, , dir] = process.argv;
if (dir === undefined) {
  process.stderr.write('The runner is started by the daemon\n');
  process.exit(125);
}
main(dir);
