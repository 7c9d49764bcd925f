/** Connects to a host through a proxy, by CONNECT (RFC 9110, 9.3.6). */
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { UpstreamProxy } from '../network-access.ts';
import { DialError, type Dialled } from './dialled.ts';

const proxyMs = 15_000;

/** @throws DialError that begins with `proxy: ` */
export async function dialProxy(
  { host, port, isSecure, authorization }: UpstreamProxy,
  target: { readonly name: string; readonly port: number },
): Promise<Dialled> {
  const to = { host, port, allowHalfOpen: true, noDelay: true };
  const own = isSecure ? connectTls({ ...to, servername: host }) : connect(to);
  const path = `${target.name}:${target.port}`;
  const headers = {
    Host: path,
    ...(authorization === undefined ? {} : { 'Proxy-Authorization': authorization }),
  };
  const asked = request({ method: 'CONNECT', path, headers, createConnection: () => own });
  const { promise, resolve, reject } = Promise.withResolvers<Dialled>();
  const fail = (why: string): void => {
    own.destroy();
    reject(new DialError(`proxy: ${why}`));
  };
  const timer = setTimeout(() => fail('no answer in time'), proxyMs);
  asked.on('connect', ({ statusCode = 0 }, socket: Socket, head) => {
    if (statusCode !== 200) {
      fail(statusCode === 407 ? '407 authentication required' : String(statusCode));
      return;
    }
    if (head.length > 0) socket.unshift(head);
    resolve({ socket, address: socket.remoteAddress ?? host });
  });
  // Any other method's answer: the proxy did not understand.
  asked.on('response', () => fail('no tunnel'));
  asked.on('upgrade', () => fail('no tunnel'));
  asked.on('error', () => fail('cannot connect'));
  asked.end();
  return await promise.finally(() => clearTimeout(timer));
}
