/** `trl net`: which hosts a session is connected to now, and the end of one. */
import { usageError, type CliArguments } from './args.ts';
import { printLines, printRows } from './print.ts';
import { connectRuntime, findSessionByWord } from './runtime-connection.ts';

export async function runNet(args: CliArguments): Promise<number> {
  const [word, ...rest] = args.words;
  if (word === undefined || rest.length > 0) throw usageError('net', 'which session? trl net web');
  await using client = await connectRuntime(args);
  const session = await findSessionByWord(client, word);
  const connections = await session.connections();
  const rows = connections.map((one) => [
    `${one.host}:${one.port}`,
    one.state,
    one.since,
    String(one.sent_bytes),
    String(one.received_bytes),
  ]);
  const head = ['HOST', 'STATE', 'SINCE', 'SENT BYTES', 'RECEIVED BYTES'];
  return printRows(args, { connections }, head, rows);
}

export async function runNetBlock(args: CliArguments): Promise<number> {
  const [word, host, ...rest] = args.words;
  if (word === undefined || host === undefined || rest.length > 0) {
    throw usageError('net block', 'which session and which host? trl net block web example.com');
  }
  await using client = await connectRuntime(args);
  const session = await findSessionByWord(client, word);
  await session.blockHost(host);
  printLines([`${host} is blocked for ${session.id}`]);
  return 0;
}
