/**
 * A client within the daemon, for what is built over a client: MCP over HTTP, tools that scripts
 * call. It speaks the wire to connections like any other's, as the caller it is given, so that
 * order, policy, masking and the audit log are the same.
 */
import { duplexPair } from 'node:stream';
import type { Duplex } from 'node:stream';
import { clientOver, streamChannel } from '../../client/index.ts';
import type { Channel, Client } from '../../client/index.ts';
import type { Caller } from '../../command.ts';
import { Connection } from './connection.ts';
import type { TransportOptions } from './listen.ts';

/** Closing the client ends its connections; the commands it ran go on. */
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
      // A pair does not tell one side that the other was destroyed.
      far.destroy();
      await served;
    },
  });
}

/** Settles when what was written has been read, or nobody will. */
function sent(side: Duplex): Promise<void> {
  return new Promise((resolve) => {
    if (side.destroyed || side.writableFinished) resolve();
    else side.once('close', resolve).end(() => resolve());
  });
}
