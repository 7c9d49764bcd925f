// The slow clients of http-slow.ts, in a process of their own: a quarter each dribbles fields
// without a token, dribbles a body, follows output that it never reads, or says nothing at all.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

const { PORT: port, TOKEN: token, EXEC: execId, CLIENTS: clients } = process.env;
const host = `Host: 127.0.0.1:${port}\r\n`;
const known = `${host}Authorization: Bearer ${token}\r\n`;
const dribbleMs = 1_000;

async function open(): Promise<Socket> {
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket;
}

function dribble(socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), dribbleMs);
  socket.on('close', () => clearInterval(timer));
}

const kinds = [
  async () => {
    const socket = await open();
    socket.write(`GET /v1/ping HTTP/1.1\r\n${host}`);
    dribble(socket, 'X: y\r\n');
  },
  async () => {
    const socket = await open();
    const type = 'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{';
    socket.write(`POST /v1/sessions HTTP/1.1\r\n${known}${type}`);
    dribble(socket, ' ');
  },
  async () => {
    const socket = await open();
    socket.pause();
    socket.write(`GET /v1/execs/${execId}/stream HTTP/1.1\r\n${known}\r\n`);
  },
  async () => void (await open()),
] as const;

for (let at = 0; at < Number(clients); at += 1) await kinds[at % kinds.length]?.();
process.send?.('open');
setInterval(() => {}, 60_000);
