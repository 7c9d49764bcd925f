/**
 * What daemon and runner say to each other, over any duplex byte stream, in frames (`frame.ts`).
 *
 * Hand-shake, both sides proving the 256-bit key without sending it (hex strings):
 *   daemon → runner  {hello: {versions:[5], epoch, nonce}}
 *   runner → daemon  {hello: {version, nonce, proof: HMAC(key, "runner" nonce_d nonce_r epoch)}}
 *   daemon → runner  {proof: HMAC(key, "daemon" nonce_r nonce_d epoch)}
 *   runner → daemon  {welcome: {pid, started_at, journal, holds}}
 * An epoch below or equal to the last one is refused; a higher one ends the older connection.
 *
 * Then requests `{n, op, …}` and answers `{n, ok:true, …}` or `{n, ok:false, code, message}`, and
 * events without `n`. Output flows in `stdout`/`stderr` frames on the channel a `follow` named.
 */
import { createHmac } from 'node:crypto';
import type { BytePath } from '../change.ts';
import type { RedactorStart, Sealing } from '../redactor/wire.ts';
import type { ErrorCode } from '../errors.ts';
import type { ExecId, Exit, OutputProgress, Plan, SessionId, StopReason } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';

export const wireVersions: readonly number[] = [5];
/** HMAC-SHA-256 of `parts`, joined by line feeds, in hex: every proof and seal is one. */
export const hmac = (key: Uint8Array, ...parts: readonly string[]): string =>
  createHmac('sha256', key).update(parts.join('\n')).digest('hex');

/** What stands for a variable's value where the value itself may not be. */
export const variableMac = (key: Uint8Array, name: string, value: string): string =>
  hmac(key, name, value);

/**
 * Largest control frame: a plan holds a command, stdin and variables of 1 MiB each, and beside it
 * are up to 256 known values of 64 KiB.
 */
export const controlBytesMax = 128 * 1024 * 1024;

/**
 * `plan`: canonical JSON of a {@link Plan} with sha256(box) in place of its box; `mac`: HMAC(key,
 * "plan" sha256(plan) exec epoch seq). `seq` rises with every sealed request of a connection, so
 * that none can be sent again. `box`: the box's canonical JSON, when this connection has not
 * carried it before or both ends have forgotten it: see {@link BoxCache}.
 */
export interface SealedPlan {
  readonly plan: string;
  readonly seq: number;
  readonly mac: string;
  readonly box?: string;
}

const boxesMax = 64;

/**
 * What an end of a connection knows of boxes by their digest. Both ends see the same boxes in the
 * same order and forget the oldest by the same rule, so each knows what the other knows.
 */
export class BoxCache<Value> {
  readonly #known = new Map<string, Value>();

  get(digest: string): Value | undefined {
    return this.#known.get(digest);
  }
  add(digest: string, value: Value): void {
    this.#known.set(digest, value);
    const [oldest] = this.#known.keys();
    if (this.#known.size > boxesMax && oldest !== undefined) this.#known.delete(oldest);
  }
}

export type RunnerRequest =
  /**
   * `known`: the values that its output must not show; `own`: the runtime's, not sealed; `hold`:
   * all is made ready, and the command starts with `permit` (a runner whose welcome says `holds`).
   */
  | ({
      op: 'launch';
      known: readonly KnownSecret[];
      own?: boolean;
      hold?: boolean;
    } & SealedPlan)
  /** What is held starts now; `start: false`: never. */
  | { op: 'permit'; exec_id: ExecId; start: boolean }
  /** Values that have become known; `session_id`: of that session alone, also later. */
  | { op: 'learn'; known: readonly KnownSecret[]; session_id?: SessionId }
  /** How output is redacted, and sealed, from now on; without it nothing runs. */
  | { op: 'redaction'; start: RedactorStart; sealing?: Sealing | null }
  /** Streams the journal from `from` on `channel`; `max` bytes at most when given. */
  | { op: 'follow'; exec_id: ExecId; from: number; channel: number; max?: number }
  | { op: 'unfollow'; channel: number }
  /** Moves the window: `offset` is the first byte not yet taken. */
  | { op: 'ack'; channel: number; offset: number }
  | { op: 'stdin'; exec_id: ExecId; base64: string; eof: boolean }
  | { op: 'resize'; exec_id: ExecId; columns: number; rows: number }
  /** The answer to a call of a script, as JSON. */
  | { op: 'answer'; exec_id: ExecId; call: number; text: string }
  /** Sends one signal to everything the command started. */
  | { op: 'signal'; exec_id: ExecId; signal: string }
  /** TERM, grace, KILL. */
  | { op: 'stop'; exec_id: ExecId; reason: StopReason; grace_ms?: number }
  | { op: 'list' }
  | { op: 'info'; exec_id: ExecId }
  /** With a key (hex): also {@link variableMac} of every carried variable, by its name. */
  | { op: 'state'; session_id: SessionId; key?: string }
  | { op: 'fork'; session_id: SessionId; to: SessionId }
  /** Session-level variables and the directory to start in; values stay in the runner. */
  | {
      op: 'set';
      session_id: SessionId;
      cwd: string | null;
      env: Readonly<Record<string, string>>;
    }
  | { op: 'unset'; session_id: SessionId; names: string[] }
  /**
   * Makes the view's overlay show what lies in its layers now; answers {@link Refreshed}. `paths`:
   * names in the workspace that others may have changed, which are looked at then.
   */
  | { op: 'refresh'; view: string; paths?: readonly BytePath[] }
  /** Answers `mount`: a {@link WatchedMount} of the view, or `null`. */
  | { op: 'watched'; view: string }
  | { op: 'close'; session_id: SessionId }
  | { op: 'shutdown' };

export type RunnerAnswer =
  | ({ n: number; ok: true } & Record<string, unknown>)
  | {
      n: number;
      ok: false;
      code: ErrorCode;
      message: string;
      data?: Readonly<Record<string, unknown>>;
    };

export type RunnerEvent =
  | { event: 'exit'; exit: Exit }
  /**
   * About once a second of what prints, and of all that has printed to a daemon that has just
   * connected.
   */
  | { event: 'progress'; progress: OutputProgress }
  /** The followed range ended: nothing more will come on the channel. */
  | { event: 'end'; channel: number; offset: number; reason: 'exit' | 'max' | 'slow' }
  | { event: 'gap'; channel: number; from: number; to: number }
  /** A script calls a tool; `text` is what it wrote, whatever that is. */
  | { event: 'call'; exec_id: ExecId; call: number; text: string }
  | { event: 'waiting'; exec_id: ExecId; pid: number; program: string; certain: boolean };

/** One execution as `list` and `info` tell it. */
export interface ExecutionEntry {
  readonly exec_id: ExecId;
  readonly session_id: SessionId;
  readonly state: 'running' | 'exited';
  readonly mode: Plan['mode'];
  readonly started_at: number;
  readonly journal_from: number;
  readonly journal_bytes: number;
  readonly exit: Exit | null;
}

/**
 * What became of a view's overlay. `none`: nothing is mounted, so the next command mounts it as
 * it is then. `fresh`: every later look of running and of later commands is at what lies there now.
 * `dropped`: it could not be refreshed, or one of the paths is shown as it was because a process is
 * using it (`why`); the next command, of whichever session, mounts another, and what runs keeps the
 * old one.
 */
export interface RefreshResult {
  readonly holder: 'none' | 'fresh' | 'dropped';
  readonly why: string | null;
}

/** A mount in which a command watches files by inotify. */
export interface WatchedMount {
  /** A descriptor of its root, as a path; it may be another thing's soon, so `dev` is compared. */
  readonly root: string;
  readonly dev: number;
  /** Its layer of what is hidden; `null`: nothing is. */
  readonly mask: string | null;
}
