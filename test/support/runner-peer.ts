/** A runner that says what a test wants, over a socket, after a good hand-shake. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { encodeHeader, FrameReader, frameTypes } from '../../src/frame.ts';
import { RunnerLink, type RunnerLinkEvents } from '../../src/process/runner-link.ts';
import { controlBytesMax, hmac } from '../../src/runner/wire.ts';
import type { Json } from './daemon.ts';

const nonce = '7'.repeat(64);

export class RunnerPeer implements Disposable {
  readonly key = randomBytes(32);
  readonly epoch = 3;
  readonly welcome: object;
  /** What the daemon's end said, and nobody has looked at. */
  readonly heard: Json[] = [];
  /** What the link told of, in order: the name of the event and its arguments. */
  readonly told: unknown[][] = [];
  readonly #home = mkdtempSync(path.join(tmpdir(), 'trl-peer-'));
  readonly #reader = new FrameReader(controlBytesMax);
  #socket: Socket | null = null;
  #wake = (): void => {};

  constructor(welcome: object = { pid: 42, journal: 'tmpfs', holds: true }) {
    this.welcome = welcome;
  }

  async open(): Promise<RunnerLink> {
    const file = path.join(this.#home, 's');
    const server = createServer((socket) => this.#serve(socket));
    await new Promise<void>((resolve) => server.listen(file, resolve));
    const tell =
      (name: string) =>
      (...args: unknown[]): void => {
        this.told.push([name, ...args]);
        this.#wake();
      };
    const events: RunnerLinkEvents = {
      exit: tell('exit'),
      progress: tell('progress'),
      waiting: tell('waiting'),
      toolCall: tell('called'),
      hostAsked: () => {},
      lost: tell('lost'),
    };
    try {
      return await RunnerLink.open(file, { key: this.key, epoch: this.epoch }, events);
    } finally {
      server.close();
    }
  }

  #serve(socket: Socket): void {
    this.#socket = socket;
    socket.on('error', () => {});
    socket.on('close', () => this.#wake());
    socket.on('data', (bytes) => {
      for (const { payload } of this.#reader.push(Buffer.from(bytes))) {
        const message: Json = JSON.parse(Buffer.from(payload).toString());
        if (message.hello !== undefined) {
          const words = ['runner', message.hello.nonce, nonce, String(this.epoch)] as const;
          this.say({ hello: { version: 5, nonce, proof: hmac(this.key, ...words) } });
        } else if (message.proof !== undefined) this.say({ welcome: this.welcome });
        this.heard.push(message);
      }
      this.#wake();
    });
  }

  say(message: object): void {
    this.send(frameTypes.control, 0, 0, JSON.stringify(message));
  }

  send(type: number, channel: number, offset: number, text: string): void {
    const payload = Buffer.from(text);
    this.#socket?.write(encodeHeader(type, channel, offset, payload.length));
    this.#socket?.write(payload);
  }

  /** The next thing that the daemon's end says. */
  async hear(): Promise<Json> {
    await this.until(() => this.heard.length > 0);
    return this.heard.shift();
  }

  /** Waits until it holds: it is looked again whenever something came, either way. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Something outside of the link changed that `until` waits for. */
  wake(): void {
    this.#wake();
  }

  end(): void {
    this.#socket?.destroy();
  }

  [Symbol.dispose](): void {
    this.end();
    rmSync(this.#home, { recursive: true, force: true });
  }
}

/** A peer whose hand-shake is over and looked at. */
export async function openPeer(): Promise<{ peer: RunnerPeer; link: RunnerLink }> {
  const peer = new RunnerPeer();
  const link = await peer.open();
  await peer.until(() => peer.heard.length >= 2);
  peer.heard.splice(0, 2);
  return { peer, link };
}
