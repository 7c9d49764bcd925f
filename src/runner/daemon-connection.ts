/**
 * The runner's end of a daemon connection: the hand-shake, the requests and the events. Nothing
 * is executed that does not carry a MAC of this key, this epoch and an exec id never seen before.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Box, Plan } from '../command.ts';
import { TrlError } from '../errors.ts';
import { encodeHeader, FrameReader, frameTypes, type Frame } from '../frame.ts';
import { fieldOf, isObject } from '../json-shape.ts';
import { JournalFollowers } from './journal-followers.ts';
import type { SealedPlan } from './operations.ts';
import { PendingLaunches } from './prepared-launch.ts';
import { serveRequest, type RunnerService } from './serve-request.ts';
import { BoxCache, controlBytesMax, hmac, wireVersions } from './wire.ts';

export const sha256OfText = (text: string): string =>
  createHash('sha256').update(text).digest('hex');

const equal = (left: string, right: unknown): boolean => {
  if (typeof right !== 'string' || right.length !== left.length) return false;
  return timingSafeEqual(Buffer.from(left), Buffer.from(right));
};

/** What all connections of one runner share. */
export interface RunnerGate {
  readonly key: Uint8Array;
  /** The highest epoch that proved itself. */
  epoch: number;
  /** The connection of that epoch. */
  current: DaemonConnection | null;
}

/** Time for a connection to prove itself. */
const proofMs = 5_000;

export class DaemonConnection {
  readonly followers: JournalFollowers;
  readonly pendingLaunches = new PendingLaunches();
  readonly #stream: Duplex;
  readonly #gate: RunnerGate;
  readonly #served: RunnerService;
  readonly #reader = new FrameReader(controlBytesMax);
  readonly #boxes = new BoxCache<Box>();
  readonly #nonce = randomBytes(32).toString('hex');
  #stage: 'hello' | 'proof' | 'open' | 'closed' = 'hello';
  #epoch = -1;
  /** The last sealed request: epochs differ between connections, so one number is enough. */
  #seq = 0;
  #daemonNonce = '';
  readonly #timer: NodeJS.Timeout;

  constructor(stream: Duplex, gate: RunnerGate, served: RunnerService) {
    this.#stream = stream;
    this.#gate = gate;
    this.#served = served;
    this.followers = new JournalFollowers({
      write: (header, payload) => {
        stream.cork();
        stream.write(header);
        const room = stream.write(payload);
        process.nextTick(() => stream.uncork());
        return room;
      },
      event: (event) => this.event(event),
    });
    this.#timer = setTimeout(() => this.end(), proofMs);
    stream.on('data', (bytes: Buffer) => this.#take(bytes));
    stream.on('drain', () => this.followers.pump(null));
    stream.on('error', () => this.end());
    stream.on('close', () => this.end());
  }

  /** Sends everything that `send` writes in one packet. */
  batch(send: () => void): void {
    this.#stream.cork();
    send();
    this.#stream.uncork();
  }

  event(message: object): void {
    if (this.#stage === 'closed') return;
    const payload = Buffer.from(JSON.stringify(message));
    this.#stream.write(
      Buffer.concat([encodeHeader(frameTypes.control, 0, 0, payload.length), payload]),
    );
  }

  end(): void {
    if (this.#stage === 'closed') return;
    this.#stage = 'closed';
    this.pendingLaunches.close();
    clearTimeout(this.#timer);
    this.#stream.destroy();
    // A connection without a proof, or replaced by a newer one, changes nothing when it ends.
    if (this.#gate.current !== this) return;
    this.#gate.current = null;
    this.#served.onDisconnected();
  }

  #take(bytes: Uint8Array): void {
    try {
      for (const frame of this.#reader.push(bytes)) this.#frame(frame);
    } catch (error) {
      // An invalid frame: the sender is not our daemon.
      process.stderr.write(`connection ended: ${String(error)}\n`);
      this.end();
    }
  }

  #frame(frame: Frame): void {
    if (frame.type !== frameTypes.control) throw new Error('only control frames come in');
    const message: unknown = JSON.parse(Buffer.from(frame.payload).toString('utf8'));
    if (typeof message !== 'object' || message === null) throw new Error('not an object');
    if (this.#stage === 'hello') this.#hello(message);
    else if (this.#stage === 'proof') this.#proof(message);
    else if (this.#stage === 'open') void this.#request(message);
  }

  #hello(message: object): void {
    const hello = fieldOf(message, 'hello');
    if (!isObject(hello)) throw new Error('no hello');
    const { nonce, epoch, versions } = hello;
    if (typeof nonce !== 'string' || nonce.length !== 64) throw new Error('no nonce');
    if (typeof epoch !== 'number' || !Number.isSafeInteger(epoch)) throw new Error('no epoch');
    const version = Array.isArray(versions)
      ? Math.max(...wireVersions.filter((known) => versions.includes(known)))
      : -Infinity;
    if (!Number.isFinite(version)) throw new Error('no common version');
    this.#epoch = epoch;
    this.#daemonNonce = nonce;
    const proof = hmac(this.#gate.key, 'runner', nonce, this.#nonce, String(epoch));
    this.event({ hello: { version, nonce: this.#nonce, proof } });
    this.#stage = 'proof';
  }

  #proof(message: object): void {
    const { key, epoch } = this.#gate;
    const wanted = hmac(key, 'daemon', this.#nonce, this.#daemonNonce, String(this.#epoch));
    if (!equal(wanted, fieldOf(message, 'proof'))) throw new Error('wrong proof');
    if (this.#epoch <= epoch) {
      this.event({ refused: `epoch ${this.#epoch} is not above ${epoch}` });
      throw new Error('old epoch');
    }
    clearTimeout(this.#timer);
    this.#gate.epoch = this.#epoch;
    this.#gate.current?.end();
    this.#gate.current = this;
    this.#stage = 'open';
    this.event({ welcome: this.#served.welcome() });
    this.#served.onAuthenticated();
  }

  async #request(message: object): Promise<void> {
    const n = fieldOf(message, 'n');
    try {
      // The connection of an older daemon ends with its epoch, and so do its late requests.
      if (this.#epoch !== this.#gate.epoch) throw new TrlError('AUTH_FAILED', 'an older epoch');
      const answer = await serveRequest(this.#served, this, message);
      this.event({ n, ok: true, ...answer });
    } catch (error) {
      const known = error instanceof TrlError;
      this.event({
        n,
        ok: false,
        code: known ? error.code : 'INTERNAL_ERROR',
        message: known ? error.message : `The runner failed: ${String(error)}`,
        ...(known && error.data !== null ? { data: error.data } : {}),
      });
    }
  }

  /**
   * A plan that was approved by our daemon, once.
   *
   * @throws TrlError `AUTH_FAILED` for a wrong MAC, a replay or an older epoch
   */
  verify({ plan: text, seq, mac, box }: SealedPlan): Plan {
    const plan: Omit<Plan, 'box'> & { readonly box: string } = JSON.parse(text);
    const { key } = this.#gate;
    const epoch = String(this.#epoch);
    const wanted = hmac(key, 'plan', sha256OfText(text), plan.exec_id, epoch, String(seq));
    if (!equal(wanted, mac)) throw new TrlError('AUTH_FAILED', 'Cannot launch: the MAC is wrong');
    if (seq <= this.#seq) {
      throw new TrlError('AUTH_FAILED', `Cannot launch ${plan.exec_id} again`);
    }
    this.#seq = seq;
    return { ...plan, box: this.#boxOf(plan.box, box) };
  }

  #boxOf(digest: string, text: string | undefined): Box {
    const known = this.#boxes.get(digest);
    if (known !== undefined) return known;
    if (text === undefined || sha256OfText(text) !== digest) {
      throw new TrlError('AUTH_FAILED', 'Cannot launch: the sandbox is not the approved one');
    }
    const box: Box = JSON.parse(text);
    this.#boxes.add(digest, box);
    return box;
  }
}
