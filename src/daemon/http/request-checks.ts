/**
 * Checks of a request before anything in it is trusted: its form, its host name and its origin. A
 * page on another site can make a browser send requests here, also under its own name if that name
 * resolves to this address (DNS rebinding); the host name and the origin reveal this.
 */
import type { IncomingMessage } from 'node:http';
import { HttpRefusal } from './problem.ts';

/** The accepted values of `Host` and `Origin`, in lower case. */
export interface AllowedHostsAndOrigins {
  readonly hosts: ReadonlySet<string>;
  readonly origins: ReadonlySet<string>;
}

export interface AllowedHostsOptions {
  /** Names and addresses of the HTTP transport: `localhost`, `[::1]`, `box.example`. */
  readonly hosts: readonly string[];
  readonly port: number;
  readonly isTls: boolean;
  /** Origins besides the transport's own: `https://console.example`. */
  readonly origins: readonly string[];
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'] as const;

/** The accepted names: those of this machine, the transport's address, and configured ones. */
export function allowedHostsAndOrigins({
  hosts,
  port,
  isTls,
  origins,
}: AllowedHostsOptions): AllowedHostsAndOrigins {
  const usualPort = isTls ? 443 : 80;
  const all = [...loopback, ...hosts.map((one) => one.toLowerCase())].flatMap((name) => {
    if (/:\d+$/.test(name)) return [name];
    return port === usualPort ? [name, `${name}:${port}`] : [`${name}:${port}`];
  });
  const scheme = isTls ? 'https' : 'http';
  return {
    hosts: new Set(all),
    origins: new Set([
      ...all.map((name) => `${scheme}://${name}`),
      ...origins.map((one) => one.toLowerCase()),
    ]),
  };
}

/** Fields that define how a request is parsed: two of one kind would be ambiguous. */
const onlyOnce: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'last-event-id',
  'origin',
  'sec-websocket-key',
  'sec-websocket-version',
  'traceparent',
  'transfer-encoding',
  'upgrade',
]);

/**
 * @throws HttpRefusal for a request that no browser or well-behaved client sends
 */
export function checkRequest(request: IncomingMessage, names: AllowedHostsAndOrigins): void {
  checkForm(request);
  const host = request.headers.host?.toLowerCase() ?? '';
  if (!names.hosts.has(host)) {
    const message =
      'Cannot answer the request: its Host is no name of this runtime; see --http-host';
    throw new HttpRefusal('PERMISSION_DENIED', message, { reason: 'host' });
  }
  const origin = request.headers.origin?.toLowerCase();
  if (origin !== undefined && !names.origins.has(origin)) {
    const message = 'Cannot answer the request: pages of its Origin may not ask; see --http-origin';
    throw new HttpRefusal('PERMISSION_DENIED', message, { reason: 'origin' });
  }
}

function checkForm({ httpVersion, rawHeaders, url = '' }: IncomingMessage): void {
  const refuse = (why: string, reason: 'protocol' | 'target'): HttpRefusal =>
    new HttpRefusal('INVALID_PARAMS', `Cannot read the request: ${why}`, { reason });
  if (httpVersion !== '1.1') throw refuse('it must be HTTP/1.1', 'protocol');
  const seen = new Set<string>();
  for (const name of rawHeaders.filter((_, at) => at % 2 === 0)) {
    const lower = name.toLowerCase();
    if (!onlyOnce.has(lower)) continue;
    if (seen.has(lower)) throw refuse(`it has the field "${lower}" twice`, 'protocol');
    seen.add(lower);
  }
  if (seen.has('transfer-encoding') && seen.has('content-length')) {
    throw refuse('it says its length in two ways', 'protocol');
  }
  if (!/^\/(?!\/)[\x21-\x7e]*$/.test(url) || /[\\#]/.test(url)) {
    throw refuse('its target must be a path', 'target');
  }
}

const bearerForm = /^Bearer +([A-Za-z0-9._~+/=-]{1,512})$/i;
const protocolForm = /^bearer\.([A-Za-z0-9_-]{1,700})$/;
/** The subprotocol of a WebSocket that carries the wire. */
export const wireProtocol = 'trl.v2';

/**
 * The token of a request: from `Authorization`, or from the subprotocol `bearer.<base64url of the
 * token>` for a WebSocket of a page, which cannot set fields. `null` if there is no readable token.
 */
export function requestToken({ headers }: IncomingMessage, isUpgrade: boolean): string | null {
  const { authorization } = headers;
  if (authorization !== undefined) return bearerForm.exec(authorization)?.[1] ?? null;
  const offered = isUpgrade ? subprotocolsOf(headers['sec-websocket-protocol']) : [];
  for (const one of offered) {
    const encoded = protocolForm.exec(one)?.[1];
    if (encoded !== undefined) return Buffer.from(encoded, 'base64url').toString('utf8');
  }
  return null;
}

export function subprotocolsOf(field: string | undefined): readonly string[] {
  return (field ?? '').split(',').map((one) => one.trim());
}

/** Checks the handshake (RFC 6455, 4.2.1), because the library would refuse it with HTML. */
export function requireHandshake({ method, headers }: IncomingMessage): void {
  const cannot = 'Cannot open the WebSocket';
  if (method !== 'GET') {
    const options = { status: 405, headers: { Allow: 'GET' } };
    throw new HttpRefusal('INVALID_PARAMS', `${cannot}: it begins with GET`, options);
  }
  if (headers.upgrade?.toLowerCase() !== 'websocket') {
    throw new HttpRefusal('INVALID_PARAMS', `${cannot}: "Upgrade" must be "websocket"`);
  }
  if (headers['sec-websocket-version'] !== '13') {
    const options = { status: 426, headers: { 'Sec-WebSocket-Version': '13' } };
    throw new HttpRefusal('INVALID_PARAMS', `${cannot}: its version must be 13`, options);
  }
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    throw new HttpRefusal(
      'INVALID_PARAMS',
      `${cannot}: "Sec-WebSocket-Key" must be 16 bytes in base64`,
    );
  }
}

export function isHandshake(request: IncomingMessage): boolean {
  try {
    requireHandshake(request);
    return true;
  } catch {
    return false;
  }
}
