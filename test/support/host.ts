/** What an attack would reach on this machine, if it got out: servers, a process, shared memory. */
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync, mkdirSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { hostname } from 'node:os';
import path from 'node:path';

export interface Bait extends AsyncDisposable {
  /** By placeholder name: `PORT`, `SOCK`, `ABS`, `HOSTPID` … */
  readonly names: Readonly<Record<string, string>>;
}

/** Starts everything; `directory` is outside every workspace. */
export async function layBait(directory: string): Promise<Bait> {
  mkdirSync(directory, { recursive: true });
  const log = path.join(directory, 'requests');
  appendFileSync(log, '');
  const abstract = `trl-test-${randomBytes(6).toString('hex')}`;
  const sockets = [path.join(directory, 'one.sock'), path.join(directory, 'two.sock')] as const;
  const http = (text: string) => `HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\n${text}`;
  const servers = [
    await serve(http('HELLO\n'), { host: '127.0.0.1', port: 0 }, log),
    await serve(http('SECOND'), { host: '127.0.0.1', port: 0 }, log),
    await serve('UNIX-HELLO', { path: sockets[0] }, log),
    await serve('UNIX2-HELLO', { path: sockets[1] }, log),
    await serve('ABSTRACT-HELLO', { path: `\0${abstract}` }, log),
  ];
  const child = spawn('/bin/sleep', ['3600'], {
    stdio: 'ignore',
    env: { HOSTMARK: 'HOSTMARK-of-a-host-process' },
  });
  const key = randomBytes(3).readUIntBE(0, 3) + 0x01000000;
  const portOf = (server: Server | undefined): string => {
    const address = server?.address();
    return typeof address === 'object' && address !== null ? String(address.port) : '';
  };
  return {
    names: {
      PORT: portOf(servers[0]),
      PORT2: portOf(servers[1]),
      SOCK: sockets[0],
      SOCK2: sockets[1],
      ABS: abstract,
      REQLOG: log,
      HOSTPID: String(child.pid),
      HOSTNAME: hostname(),
      SHMKEY: String(key),
      MKSHM: `perl -e 'defined shmget(${key}, 4096, 01666) or die $!'`,
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      // IPC_RMID is 0; a segment that no row made is no failure.
      const remove = `my $id = shmget(${key}, 0, 0); shmctl($id, 0, 0) if defined $id`;
      spawnSync('/usr/bin/perl', ['-e', remove]);
      for (const server of servers) server.close();
      await Promise.all(servers.map((server) => once(server, 'close')));
    },
  };
}

type Place = { readonly path: string } | { readonly host: string; readonly port: number };

/** Says `text` to whoever comes, and notes that they came. */
async function serve(text: string, place: Place, log: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (bytes) => appendFileSync(log, bytes));
    socket.end(text);
  });
  server.listen(place);
  await once(server, 'listening');
  return server;
}
