/**
 * A client within the daemon, for parts that are built on a client: MCP over HTTP and tools that
 * scripts call. It uses the wire protocol over ordinary connections, on behalf of a given caller,
 * so that order, policy, masking and the audit log are the same.
 */
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { clientOver, streamChannel } from '../../client/index.ts';
import type { Channel, Client } from '../../client/index.ts';
import type { Caller } from '../../command.ts';
import { Connection } from './connection.ts';
import type { TransportOptions } from './listen.ts';

/** Closing the client ends its connections; the commands it started continue. */
export async function createInProcessClient(
  options: TransportOptions & { caller: Caller },
): Promise<Client> {
  return clientOver(dial(options), { dial: async () => dial(options) });
}

function dial(options: TransportOptions & { caller: Caller }): Channel {
  const [near, far] = duplexPair();
  const served = new Connection({ ...options, input: far, output: far }).serve();
  return streamChannel({
    from: near,
    to: near,
    peer: 'the runtime',
    close: async () => {
      await sent(near);
      near.destroy();
      // The sides of a pair do not notice when the other side is destroyed.
      far.destroy();
      await served;
    },
  });
}

/** Settles when the other side has read everything, or is closed. */
function sent(side: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (side.destroyed || side.writableFinished) resolve();
    else side.once('close', resolve).end(() => resolve());
  });
}
