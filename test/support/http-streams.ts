/** Followers of one execution over HTTP: each keeps the bytes of what it was sent. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Json } from './daemon.ts';
import { mainToken } from './http.ts';

export interface Followed {
  /** SHA-256 of the output, stdout and stderr as they came, hex. */
  readonly digest: string;
  readonly bytes: number;
  /** Bytes that a gap says are missing. */
  readonly missing: number;
  /** Of the exit event; `null`: there was none. */
  readonly exitCode: number | null;
  readonly lastId: string;
}

export interface Place {
  readonly port: number;
  readonly execId: string;
  readonly from?: number;
  readonly token?: string;
}

class Tally {
  readonly #hash = createHash('sha256');
  #next: number;
  bytes = 0;
  missing = 0;
  exitCode: number | null = null;
  lastId = '';

  constructor(from: number) {
    this.#next = from;
  }

  output(seq: number, bytes: Uint8Array): void {
    if (seq !== this.#next) throw new Error(`output at ${seq}, wanted ${this.#next}`);
    this.#hash.update(bytes);
    this.#next += bytes.length;
    this.bytes += bytes.length;
  }

  event(event: Json): void {
    if (event.stream === 'gap') {
      this.missing += event.to - event.from;
      this.#next = event.to;
    }
    if (event.stream === 'exit') this.exitCode = event.exit_code ?? null;
  }

  result(): Followed {
    const { bytes, missing, exitCode, lastId } = this;
    return { digest: this.#hash.digest('hex'), bytes, missing, exitCode, lastId };
  }
}

export async function openEvents(place: Place, headers: object = {}): Promise<IncomingMessage> {
  const { port, execId, from = 0, token = mainToken } = place;
  const asked = request({
    host: '127.0.0.1',
    port,
    path: `/v1/execs/${execId}/stream?from=${from}`,
    agent: false,
    headers: { Authorization: `Bearer ${token}`, ...headers },
  });
  asked.end();
  const [response] = await once(asked, 'response');
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  return response;
}

/** Follows by server-sent events to the end; `stopAfter` bytes it leaves. */
export async function followEvents(
  place: Place,
  { stopAfter = Infinity, lastId = '' } = {},
): Promise<Followed> {
  const headers = lastId === '' ? {} : { 'Last-Event-ID': lastId };
  const response = await openEvents(place, headers);
  const tally = new Tally(lastId === '' ? (place.from ?? 0) : Number(lastId));
  let rest = '';
  for await (const piece of response.setEncoding('utf8')) {
    const blocks = (rest + piece).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) takeEvent(tally, block);
    if (tally.bytes >= stopAfter) break;
  }
  response.destroy();
  return tally.result();
}

function takeEvent(tally: Tally, block: string): void {
  const fields = new Map(
    block.split('\n').map((line): [string, string] => {
      const colon = line.indexOf(': ');
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return;
  tally.lastId = fields.get('id') ?? tally.lastId;
  const event = JSON.parse(data);
  if (event.data !== undefined) tally.output(event.seq, Buffer.from(event.data));
  else if (event.b64 !== undefined) tally.output(event.seq, Buffer.from(event.b64, 'base64'));
  else tally.event(event);
}

export function openSocket(port: number, path: string, token = mainToken): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${port}${path}`, {
    headers: { Authorization: `Bearer ${token}` },
    perMessageDeflate: false,
  });
}

/** Follows by a WebSocket to its end. */
export async function followSocket({ port, execId, from = 0, token }: Place): Promise<Followed> {
  const ws = openSocket(port, `/v1/execs/${execId}/ws?from=${from}`, token);
  const tally = new Tally(from);
  const failures: Error[] = [];
  ws.on('message', (data: Buffer, isBinary: boolean) => {
    try {
      if (isBinary) tally.output(Number(data.readBigUInt64LE(1)), data.subarray(9));
      else tally.event(JSON.parse(data.toString()));
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)));
      ws.terminate();
    }
  });
  await once(ws, 'close');
  if (failures[0] !== undefined) throw failures[0];
  return tally.result();
}
