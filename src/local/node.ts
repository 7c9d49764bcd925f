/**
 * The package's root in Node: as `src/client/index.ts`, and `connect` reaches sockets, too. It
 * starts no process: that is `terminal-runtime-layer/local`.
 */
import { connectByHttp } from '../client/connect.ts';
import type { Client, ConnectOptions } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { findProxyVariable } from './proxy.ts';
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
