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
 * Then requests `{n, op, …}` and answers `{n, ok:true, …}` or `{n, ok:false, code, message}`, both
 * by the table of `operations.ts`, and events without `n`. Output flows in `stdout`/`stderr` frames
 * on the channel that a `follow` named.
 */
import { createHmac } from 'node:crypto';
import type { ErrorCode } from '../errors.ts';
import type { ExecId, Exit, OutputProgress } from '../command.ts';

export const wireVersions: readonly number[] = [5];
/** HMAC-SHA-256 of `parts`, joined by line feeds, in hex: every proof and seal is one. */
export const hmac = (key: Uint8Array, ...parts: readonly string[]): string =>
  createHmac('sha256', key).update(parts.join('\n')).digest('hex');

/** What represents a variable's value where the value itself may not be. */
export const variableMac = (key: Uint8Array, name: string, value: string): string =>
  hmac(key, name, value);

/**
 * Largest control frame: a plan holds a command, stdin and variables of 1 MiB each, and beside it
 * are up to 256 known values of 64 KiB.
 */
export const controlBytesMax = 128 * 1024 * 1024;

const boxesMax = 64;

/**
 * The boxes that one end of a connection knows, by their digest. Both ends see the same boxes in
 * the same order and forget the oldest by the same rule, so they know the same.
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
  /** A script calls a tool; `text` is what it wrote, unchecked. */
  | { event: 'call'; exec_id: ExecId; call: number; text: string }
  /** A connection to a host that no rule names is held until the operation `host` answers. */
  | { event: 'host'; exec_id: ExecId; host: string; port: number }
  | { event: 'waiting'; exec_id: ExecId; pid: number; program: string; certain: boolean };
