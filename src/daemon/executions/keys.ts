/**
 * Commands by the keys that their callers gave them. In one session a key belongs to one call: a
 * repeat attaches to the first one's command, also after the runtime ended in between, and for a
 * day when its output is gone. What the key was given for is known by a keyed hash alone, for it
 * may hold values.
 */
import { createHmac } from 'node:crypto';
import { canonicalJson } from '../../canonical.ts';
import type { SessionId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { execKeysOf, type Executions, type TrackedExecution } from './executions.ts';
import { stdinOf, timeoutOf, type CommandParams } from './requests.ts';

/** A key as a call gave it. */
export interface KeyedCommand {
  readonly session: SessionId;
  readonly key: string;
  /** Identifies the call, in hex digits. */
  readonly call: string;
}

export class ExecKeys {
  readonly #execs: Executions;
  readonly #macKey: Uint8Array;
  /** By session and key. */
  readonly #starting = new Map<
    string,
    { readonly call: string; readonly start: Promise<TrackedExecution> }
  >();

  /** @param macKey outlives the runtime, as what is kept of executions does */
  constructor(execs: Executions, macKey: Uint8Array) {
    this.#execs = execs;
    this.#macKey = macKey;
  }

  /** `null`: the call has no key. */
  of(params: CommandParams): KeyedCommand | null {
    const { session_id: session, exec_key: key } = params;
    if (key === undefined) return null;
    const call = createHmac('sha256', this.#macKey).update(saidIn(params)).digest('hex');
    return { session, key, call };
  }

  /**
   * The command that has the key; `null`: none yet.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT` when the key was given for another call;
   *   `EXEC_NOT_FOUND` when its command is over and what it printed is no longer held
   */
  find({ session, key, call }: KeyedCommand): TrackedExecution | null {
    const known = this.#execs.byKey(session, key);
    if (known !== null) {
      const own = execKeysOf(known.record).find((one) => one.key === key);
      refuseOther(key, { call, before: own?.call ?? call });
      return known;
    }
    const gone = this.#execs.findUsedKey(session, key);
    if (gone === null) return null;
    refuseOther(key, { call, before: gone.call ?? call });
    const why = `it ran as ${gone.state}, whose output is no longer held; use a new key to run it`;
    throw new TrlError('EXEC_NOT_FOUND', `Cannot run the command by ${quoted(key)} again: ${why}`);
  }

  /**
   * Starts a command with a new key; a caller that repeats it meanwhile waits for the same start.
   *
   * @throws TrlError `IDEMPOTENCY_CONFLICT`; what `start` does, and then the key is free
   */
  async start(
    { session, key, call }: KeyedCommand,
    start: () => Promise<TrackedExecution>,
  ): Promise<TrackedExecution> {
    const name = `${session} ${key}`;
    const starting = this.#starting.get(name);
    if (starting !== undefined) {
      refuseOther(key, { call, before: starting.call });
      return starting.start;
    }
    const own = { call, start: start() };
    this.#starting.set(name, own);
    return own.start.finally(() => this.#starting.delete(name));
  }
}

const quoted = (key: string): string => `the key ${JSON.stringify(key)}`;

function refuseOther(
  key: string,
  { call, before }: { readonly call: string; readonly before: string },
): void {
  if (call === before) return;
  const why = 'it belongs to another call; use a new key';
  throw new TrlError('IDEMPOTENCY_CONFLICT', `Cannot run the command by ${quoted(key)}: ${why}`);
}

/** How the answer is waited for and shown, which two calls of one command may say in two ways. */
const aboutAnswer: ReadonlySet<string> = new Set([
  'session_id',
  'exec_key',
  'wait_ms',
  'output_bytes',
  'from',
  'enc',
]);
/** What is said in other words below. */
const saidBelow: ReadonlySet<string> = new Set([
  'env',
  'stdin',
  'stdin_encoding',
  'stdin_open',
  'timeout_s',
  'timeout_ms',
]);

/** All that makes the call this one. A trace names the attempt, not the call. */
function saidIn(params: CommandParams): string {
  const { TRACEPARENT: _, ...env } = params.env ?? {};
  const others = Object.entries(params).filter(
    ([name]) => !aboutAnswer.has(name) && !saidBelow.has(name),
  );
  const timeout = timeoutOf(params);
  return canonicalJson([Object.fromEntries(others), { env, stdin: stdinOf(params), timeout }]);
}
