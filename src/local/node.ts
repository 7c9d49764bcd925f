/**
 * The package's root in Node: as `src/client/index.ts`, and `connect` reaches sockets, too. It
 * starts no process: that is `terminal-runtime-layer/local`.
 */
import { connectByHttp } from '../client/connect.ts';
import type { Client, ConnectOptions } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { clientOnSocket, defaultSocketPath, notListeningError } from './socket.ts';

export {
  Client,
  clientOver,
  errorTable,
  ExecStream,
  isTrlError,
  Session,
  streamChannel,
  TrlError,
} from '../client/index.ts';

/** See `src/client/connect.ts`, whose types this one shares. */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  if ('url' in options) {
    const proxy = findProxyVariable(options.url, { env: process.env, flags: process.execArgv });
    if (proxy === null) return connectByHttp(options);
    const message = `Cannot send a token to "${options.url}" through the proxy of ${proxy}`;
    throw new TrlError('INVALID_PARAMS', `${message}: name its host in NO_PROXY`);
  }
  const { socketPath = defaultSocketPath(), ...rest } = options;
  const found = await clientOnSocket(socketPath, rest);
  if (found === null) throw notListeningError(socketPath);
  return found;
}

// Node sends requests through the proxy of its environment if `NODE_USE_ENV_PROXY` or
// `--use-env-proxy` is set. A local runtime speaks plain HTTP, so the proxy would see the token.

interface ProxySettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What Node itself was started with. */
  readonly flags: readonly string[];
}

/** The variable by which a plain `url` would go through a proxy; `null`: it goes straight. */
export function findProxyVariable(url: string, { env, flags }: ProxySettings): string | null {
  const place = URL.canParse(url) ? new URL(url) : null;
  if (place?.protocol !== 'http:' || !usesProxies({ env, flags })) return null;
  const named = ['http_proxy', 'HTTP_PROXY'].find((name) => (env[name] ?? '') !== '');
  if (named === undefined) return null;
  const host = place.hostname.replace(/^\[|\]$/g, '');
  const port = place.port === '' ? '80' : place.port;
  const spared = new Set(['*', host, `[${host}]`, `${host}:${port}`, `[${host}]:${port}`]);
  const list = env['no_proxy'] ?? env['NO_PROXY'] ?? '';
  return list.split(/[\s,]+/).some((one) => spared.has(one.toLowerCase())) ? null : named;
}

function usesProxies({ env, flags }: ProxySettings): boolean {
  const given = [...flags, ...(env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  return env['NODE_USE_ENV_PROXY'] === '1' || given.includes('--use-env-proxy');
}
