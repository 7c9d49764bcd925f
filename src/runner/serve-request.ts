/** The runner's requests, one function each. */
import type { ExecId, SessionId, StopReason } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import { TrlError } from '../errors.ts';
import type { RedactorStart, Sealing } from '../redactor/wire.ts';
import type { Execution, ExecutionSummary } from './execution.ts';
import type { SandboxPool } from './sandbox-pool.ts';
import type { DaemonConnection } from './daemon-connection.ts';
import type { ExecutionEntry } from './wire.ts';

/** What a connection is served from. */
export interface RunnerService {
  readonly pool: SandboxPool;
  welcome(): object;
  /** A daemon has proved itself. */
  onAuthenticated(): void;
  onDisconnected(): void;
  shutdown(): Promise<void>;
}

type Message = Readonly<Record<string, unknown>>;

const isExecId = (value: unknown): value is ExecId =>
  typeof value === 'string' && value.startsWith('x-');
const isSessionId = (value: unknown): value is SessionId =>
  typeof value === 'string' && value.startsWith('s-');

const number = (message: Message, name: string): number => {
  const value = message[name];
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new TrlError('INVALID_PARAMS', `Cannot serve the daemon: "${name}" is not a whole number`);
};

function kept(keep: SandboxPool, message: Message): ExecutionSummary {
  const id = message['exec_id'];
  const found = isExecId(id) ? keep.executions.get(id) : undefined;
  if (found === undefined) {
    throw new TrlError('EXEC_NOT_FOUND', `Cannot find execution ${String(id)}`);
  }
  return found;
}

/** A running execution, or `null` when it has ended. */
const live = (keep: SandboxPool, message: Message): Execution | null => kept(keep, message).live;

function session(message: Message, name: string): SessionId {
  const id = message[name];
  if (isSessionId(id)) return id;
  throw new TrlError('INVALID_PARAMS', `Cannot serve the daemon: "${name}" is no session id`);
}

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

/** What came through the proof is our daemon's own: shapes are looked at, not doubted. */
function knownOf(value: unknown): KnownSecret[] {
  if (!Array.isArray(value)) throw new TrlError('INVALID_PARAMS', 'Cannot launch: no known values');
  return value;
}

function redactionOf(value: unknown): RedactorStart {
  const isStart = (start: unknown): start is RedactorStart =>
    typeof start === 'object' && start !== null && typeof Reflect.get(start, 'key') === 'string';
  if (isStart(value)) return value;
  throw new TrlError('INVALID_PARAMS', 'Cannot redact: no key');
}

function sealingOf(value: unknown): Sealing | null {
  const isSealing = (sealing: unknown): sealing is Sealing =>
    typeof sealing === 'object' &&
    sealing !== null &&
    typeof Reflect.get(sealing, 'directory') === 'string' &&
    Array.isArray(Reflect.get(sealing, 'recipients'));
  if (value === undefined || value === null) return null;
  if (isSealing(value)) return value;
  throw new TrlError('INVALID_PARAMS', 'Cannot seal: no directory or no recipients');
}

function follow(served: RunnerService, link: DaemonConnection, message: Message): object {
  const found = kept(served.pool, message);
  const max = message['max'] === undefined ? null : number(message, 'max');
  const options = { channel: number(message, 'channel'), from: number(message, 'from'), max };
  // The answer must come before the first frame of the channel.
  setImmediate(() => link.followers.add(found, options));
  const { journal_from, journal_bytes, state } = entryOf(found);
  return { journal_from, journal_bytes, state };
}

const signals = /^SIG[A-Z0-9]+$/;
const isSignal = (value: unknown): value is NodeJS.Signals =>
  typeof value === 'string' && signals.test(value);

/** What a daemon may give as a reason; the others are the runner's own. */
const stopReasonOf = (given: unknown): StopReason =>
  given === 'timeout' || given === 'audit-failed' || given === 'shutdown' ? given : 'cancelled';

const graceOf = (message: Message): number | null =>
  message['grace_ms'] === undefined ? null : number(message, 'grace_ms');

/** @throws TrlError for anything that cannot be done; the link turns it into an answer */
export async function serveRequest(
  served: RunnerService,
  link: DaemonConnection,
  message: object,
): Promise<object> {
  const { pool: keep } = served;
  const request: Message = { ...message };
  switch (request['op']) {
    case 'launch': {
      const plan = link.verify(request);
      const own = request['own'] === true;
      const permitted =
        request['hold'] === true ? link.pendingLaunches.waitForCommit(plan.exec_id) : null;
      return entryOf(await keep.launch(plan, knownOf(request['known']), { own, permitted }));
    }
    case 'permit': {
      const id = request['exec_id'];
      if (isExecId(id)) link.pendingLaunches.settle(id, request['start'] === true);
      return {};
    }
    case 'follow':
      return follow(served, link, request);
    case 'unfollow':
      link.followers.remove(number(request, 'channel'));
      return {};
    case 'ack':
      link.followers.ack(number(request, 'channel'), number(request, 'offset'));
      return {};
    case 'stdin': {
      const open = live(keep, request);
      if (open === null) {
        throw new TrlError('INVALID_PARAMS', 'Cannot write: the command has ended');
      }
      const bytes = Buffer.from(String(request['base64']), 'base64');
      await open.write(bytes, request['eof'] === true);
      return {};
    }
    case 'resize':
      await live(keep, request)?.resize(number(request, 'columns'), number(request, 'rows'));
      return {};
    case 'answer':
      live(keep, request)?.calls?.answer(number(request, 'call'), String(request['text']));
      return {};
    case 'signal': {
      const signal = request['signal'];
      if (!isSignal(signal)) throw new TrlError('INVALID_PARAMS', `Cannot send ${String(signal)}`);
      live(keep, request)?.signal(signal);
      return {};
    }
    case 'stop':
      live(keep, request)?.stop(stopReasonOf(request['reason']), graceOf(request));
      return {};
    default:
      return serveSessions(served, request);
  }
}

async function serveSessions(served: RunnerService, request: Message): Promise<object> {
  const { pool: keep } = served;
  switch (request['op']) {
    case 'list':
      return { executions: [...keep.executions.values()].map(entryOf) };
    case 'info':
      return entryOf(kept(keep, request));
    case 'state': {
      const id = session(request, 'session_id');
      const { key } = request;
      const names = keep.states.names(id);
      const macs = typeof key === 'string' ? keep.states.macs(id, Buffer.from(key, 'hex')) : {};
      const { cwd, set } = keep.states.get(id);
      // Which files a name starts is asked before it is run; no other value leaves.
      return { cwd, names, macs, path: set.get('PATH') ?? null };
    }
    case 'fork':
      keep.states.fork(session(request, 'session_id'), session(request, 'to'));
      return {};
    case 'set': {
      const { cwd, env } = request;
      const given = typeof env === 'object' && env !== null ? Object.entries(env) : [];
      const variables = new Map(given.map(([name, value]) => [name, String(value)]));
      const id = session(request, 'session_id');
      keep.states.set(id, typeof cwd === 'string' ? cwd : null, variables);
      return {};
    }
    case 'unset': {
      const names = request['names'];
      if (!Array.isArray(names)) throw new TrlError('INVALID_PARAMS', 'Cannot unset: no names');
      keep.states.unset(session(request, 'session_id'), names.map(String));
      return {};
    }
    case 'refresh': {
      const { paths, view } = request;
      const changed = Array.isArray(paths) ? paths.map(String) : [];
      return keep.refresh(String(view), changed);
    }
    case 'watched':
      return { mount: await keep.watched(String(request['view'])) };
    case 'close':
      await keep.close(session(request, 'session_id'));
      return {};
    case 'learn': {
      const id = request['session_id'];
      keep.learn(knownOf(request['known']), isSessionId(id) ? id : null);
      return {};
    }
    case 'redaction':
      keep.redaction.configure(redactionOf(request['start']), sealingOf(request['sealing']));
      return {};
    case 'shutdown':
      await served.shutdown();
      return {};
    default:
      throw new TrlError('INVALID_PARAMS', `Cannot serve the daemon: "${String(request['op'])}"`);
  }
}
