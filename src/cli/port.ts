/** `trl port`: a server inside a session, in a browser of this machine. */
import { once } from 'node:events';
import { usageError, type CliArguments } from './args.ts';
import { Interrupts } from './interrupts.ts';
import { printJson, printLines } from './print.ts';
import { connectRuntime, findSessionByWord } from './runtime-connection.ts';

const portMax = 65_535;

export async function runPort(args: CliArguments): Promise<number> {
  const [word, text = '', ...rest] = args.words;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (word === undefined || port === 0 || port > portMax || rest.length > 0) {
    throw usageError('port', 'which session and which port? trl port web 5173');
  }
  await using client = await connectRuntime(args);
  const session = await findSessionByWord(client, word);
  const url = await session.showPort(port);
  if (args.has('json')) printJson({ session_id: session.id, port, url });
  else printLines([url, `Port ${port} of ${session.id}, until Ctrl-C`]);
  using interrupts = new Interrupts();
  await once(interrupts.signal, 'abort');
  await session.hidePort(port).catch(() => {});
  return 0;
}
