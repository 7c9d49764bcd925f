/** Waits with a connection that must not go on yet, and notices when its client gives up. */
import type { Socket } from 'node:net';

/** What a client may send meanwhile; more stays in the kernel. */
const bytesMax = 64 * 1024;

/**
 * `false`: the client has ended the connection, or `ms` are over. Else `answer` is there, and what
 * the client has sent can be read again.
 */
export async function whileOpen(
  socket: Socket,
  answer: Promise<unknown>,
  ms: number,
): Promise<boolean> {
  const sent: Buffer[] = [];
  let bytes = 0;
  const gone = Promise.withResolvers<false>();
  const end = (): void => gone.resolve(false);
  const take = (chunk: Buffer): void => {
    sent.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) socket.pause();
  };
  // What is not read does not show that the other side has ended.
  socket.on('data', take);
  socket.once('end', end);
  socket.once('close', end);
  socket.resume();
  const timer = setTimeout(end, ms);
  try {
    return await Promise.race([answer.then(() => true), gone.promise]);
  } finally {
    clearTimeout(timer);
    socket.off('data', take);
    socket.off('end', end);
    socket.off('close', end);
    socket.pause();
    if (sent.length > 0 && !socket.readableEnded) socket.unshift(Buffer.concat(sent));
  }
}
