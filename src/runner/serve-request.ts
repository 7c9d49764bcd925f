/** The runner's operations, one function each. */
import type { ExecId, StopReason } from '../command.ts';
import { TrlError } from '../errors.ts';
import { fieldOf } from '../json-shape.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import type { Execution, ExecutionSummary } from './execution.ts';
import {
  isOperation,
  parseOperationParams,
  type ExecutionEntry,
  type OperationAnswer,
  type OperationName,
  type OperationParams,
} from './operations.ts';
import type { ShownPorts } from './shown-ports.ts';
import type { SandboxPool } from './sandbox-pool.ts';

/** What a connection is served from. */
export interface RunnerService {
  readonly pool: SandboxPool;
  readonly ports: ShownPorts;
  welcome(): object;
  /** A daemon has proved itself. */
  onAuthenticated(): void;
  onDisconnected(): void;
  shutdown(): Promise<void>;
}

interface Context {
  readonly service: RunnerService;
  readonly pool: SandboxPool;
  readonly connection: DaemonConnection;
}

type Handlers = {
  readonly [Name in OperationName]: (
    context: Context,
    params: OperationParams<Name>,
  ) => OperationAnswer<Name> | Promise<OperationAnswer<Name>>;
};

const handlers: Handlers = {
  launch: async ({ pool, connection }, request) => {
    const plan = connection.verify(request);
    const own = request.own === true;
    const permitted =
      request.hold === true ? connection.pendingLaunches.waitForCommit(plan.exec_id) : null;
    return entryOf(await pool.launch(plan, request.known, { own, permitted }));
  },
  permit: ({ connection }, { exec_id, start }) => {
    connection.pendingLaunches.settle(exec_id, start);
    return {};
  },
  learn: ({ pool }, { known, session_id }) => {
    pool.learn(known, session_id ?? null);
    return {};
  },
  redaction: ({ pool }, { start, sealing }) => {
    pool.redaction.configure(start, sealing ?? null);
    return {};
  },
  follow: ({ pool, connection }, { exec_id, channel, from, max }) => {
    const found = findExecution(pool, exec_id);
    // The answer must come before the first frame of the channel.
    setImmediate(() => connection.followers.add(found, { channel, from, max: max ?? null }));
    const { journal_from, journal_bytes, state } = entryOf(found);
    return { journal_from, journal_bytes, state };
  },
  unfollow: ({ connection }, { channel }) => {
    connection.followers.remove(channel);
    return {};
  },
  ack: ({ connection }, { channel, offset }) => {
    connection.followers.ack(channel, offset);
    return {};
  },
  stdin: async ({ pool }, { exec_id, base64, eof }) => {
    const running = findRunning(pool, exec_id);
    if (running === null) {
      throw new TrlError('INVALID_PARAMS', 'Cannot write: the command has ended');
    }
    await running.write(Buffer.from(base64, 'base64'), eof);
    return {};
  },
  resize: async ({ pool }, { exec_id, columns, rows }) => {
    await findRunning(pool, exec_id)?.resize(columns, rows);
    return {};
  },
  answer: ({ pool }, { exec_id, call, text }) => {
    findRunning(pool, exec_id)?.calls?.answer(call, text);
    return {};
  },
  host: ({ pool }, { exec_id, host, port, allow }) => {
    pool.answerHost(exec_id, { host, port, allow });
    return {};
  },
  connections: async ({ pool }, { session_id }) => {
    const bridge = await pool.namespaces.bridgeOf(session_id);
    return { connections: (await bridge?.live()) ?? [] };
  },
  block_host: async ({ pool }, { session_id, host }) => {
    (await pool.namespaces.bridgeOf(session_id))?.block(host);
    return {};
  },
  show_port: ({ service }, { session_id, port }) => service.ports.show(session_id, port),
  hide_port: ({ service }, { session_id, port }) => ({
    hidden: service.ports.hide(session_id, port),
  }),
  signal: ({ pool }, { exec_id, signal }) => {
    if (!isSignal(signal)) throw new TrlError('INVALID_PARAMS', `Cannot send ${signal}`);
    findRunning(pool, exec_id)?.signal(signal);
    return {};
  },
  stop: ({ pool }, { exec_id, reason, grace_ms }) => {
    findRunning(pool, exec_id)?.stop(stopReasonOf(reason), grace_ms ?? null);
    return {};
  },
  list: ({ pool }) => ({ executions: [...pool.executions.values()].map(entryOf) }),
  info: ({ pool }, { exec_id }) => entryOf(findExecution(pool, exec_id)),
  state: ({ pool: { states } }, { session_id: id, key }) => {
    const names = states.names(id);
    const macs = key === undefined ? {} : states.macs(id, Buffer.from(key, 'hex'));
    const { cwd, set } = states.get(id);
    // The daemon looks up which files a name starts before it runs; no other value leaves.
    return { cwd, names, macs, path: set.get('PATH') ?? null };
  },
  fork: ({ pool }, { session_id, to }) => {
    pool.states.fork(session_id, to);
    return {};
  },
  set: ({ pool }, { session_id, cwd, env }) => {
    pool.states.set(session_id, cwd, new Map(Object.entries(env)));
    return {};
  },
  unset: ({ pool }, { session_id, names }) => {
    pool.states.unset(session_id, names);
    return {};
  },
  refresh: ({ pool }, { view, paths }) => pool.refresh(view, paths ?? []),
  watched: async ({ pool }, { view }) => ({ mount: await pool.watched(view) }),
  close: async ({ service, pool }, { session_id }) => {
    service.ports.drop(session_id);
    await pool.close(session_id);
    return {};
  },
  shutdown: async ({ service }) => {
    await service.shutdown();
    return {};
  },
};

/** @throws TrlError for anything that cannot be done; the connection turns it into an answer */
export async function serveRequest(
  service: RunnerService,
  connection: DaemonConnection,
  message: object,
): Promise<object> {
  const name = fieldOf(message, 'op');
  if (!isOperation(name)) {
    throw new TrlError('INVALID_PARAMS', `Cannot serve the daemon: "${String(name)}"`);
  }
  return serve(name, { service, pool: service.pool, connection }, message);
}

const serve = async <Name extends OperationName>(name: Name, context: Context, message: object) =>
  handlers[name](context, parseOperationParams(name, message));

function findExecution(pool: SandboxPool, id: ExecId): ExecutionSummary {
  const found = pool.executions.get(id);
  if (found === undefined) throw new TrlError('EXEC_NOT_FOUND', `Cannot find execution ${id}`);
  return found;
}

/** `null`: the execution has ended. */
const findRunning = (pool: SandboxPool, id: ExecId): Execution | null =>
  findExecution(pool, id).live;

const entryOf = (found: ExecutionSummary): ExecutionEntry => ({
  exec_id: found.id,
  session_id: found.sessionId,
  state: found.exit === null ? 'running' : 'exited',
  mode: found.mode,
  started_at: found.startedAt,
  journal_from: found.journal.from,
  journal_bytes: found.journal.end,
  exit: found.exit,
});

const isSignal = (value: string): value is NodeJS.Signals => /^SIG[A-Z0-9]+$/.test(value);

/** What a daemon may give as a reason; the others are the runner's own. */
const stopReasonOf = (given: StopReason): StopReason =>
  given === 'timeout' || given === 'audit-failed' || given === 'shutdown' ? given : 'cancelled';
