// The other clients of http-slow.ts, in a process of their own. Slow: a quarter each dribbles
// fields without a token, dribbles a body, follows output that it never reads, or says nothing.
// Idle: each asks once with its token, and then keeps its connection. Whoever is ended comes again.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const { PORT: port, TOKEN: token, EXEC: execId, CLIENTS: clients, KIND: kind } = process.env;
const host = `Host: 127.0.0.1:${port}\r\n`;
const known = `${host}Authorization: Bearer ${token}\r\n`;
const dribbleMs = 1_000;
const againMs = 1_000;

function dribble(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), dribbleMs);
  socket.on('close', () => clearInterval(timer));
}

const slow = [
  (socket: Socket) => {
    socket.resume().write(`GET /v1/ping HTTP/1.1\r\n${host}`);
    dribble(socket, 'X');
  },
  (socket: Socket) => {
    const type = 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{';
    socket.resume().write(`POST /v1/sessions HTTP/1.1\r\n${known}${type}`);
    dribble(socket, ' ');
  },
  (socket: Socket) => {
    socket.write(`GET /v1/execs/${execId}/stream HTTP/1.1\r\n${known}\r\n`);
  },
  (socket: Socket) => void socket.resume(),
];
const idle = [
  (socket: Socket) => {
    socket.resume().write(`GET /v1/ping HTTP/1.1\r\n${known}\r\n`);
  },
];

async function open(act: (socket: Socket) => void): Promise<void> {
  const socket = connect(Number(port), '127.0.0.1').pause();
  socket.on('error', () => {});
  const again = (): void => void setTimeout(() => void open(act), againMs);
  socket.once('close', again);
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  if (!socket.destroyed) act(socket);
}

const kinds = kind === 'idle' ? idle : slow;
for (let at = 0; at < Number(clients); at += 1) {
  const act = kinds[at % kinds.length];
  if (act !== undefined) await open(act);
}
process.send?.('open');
