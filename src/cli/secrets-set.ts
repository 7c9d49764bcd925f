/**
 * `trl secrets set NAME`: takes a value from a person at a terminal, or from a pipe. Never from an
 * argument: every process of the host can read those, and shells write them down.
 */
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { exitInterrupted, Interrupts } from './interrupts.ts';
import { asPerson } from './passphrase.ts';
import { reach } from './reach.ts';
import { say, sayJson } from './show.ts';
import { Left, Terminal } from './terminal.ts';
import { visible } from './visible.ts';

const verb = 'secrets set';
const valueBytesMax = 64 * 1_024;

export async function set(args: Args): Promise<number> {
  const name = nameOf(args);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await reach(args, { signal });
  try {
    const value = args.has('stdin') ? await fromPipe() : await fromTerminal(name, signal);
    const answer = await asPerson(client, signal, (proof) =>
      client.call('secrets.set', { name, value, ...proof }),
    );
    if (args.has('json')) sayJson(answer);
    else say(`${name} is kept in the memory of the runtime, until it ends or you delete it`);
    if (answer.warning !== null) say(answer.warning);
    return 0;
  } catch (error) {
    if (!(error instanceof Left) && !signal.aborted) throw error;
    say('nothing was kept');
    return interrupts.exitCode ?? exitInterrupted;
  }
}

/** The one word; what looks like a value beside it is not repeated in the refusal. */
function nameOf(args: Args): string {
  const [name, ...others] = args.words;
  if (name === undefined) throw usage(verb, 'which one? for example: trl secrets set API_KEY');
  const at = name.indexOf('=');
  if (others.length > 0 || at !== -1) {
    const said = at === -1 ? name : name.slice(0, at);
    throw usage(
      verb,
      'a value is never an argument, since every process can read arguments and shells keep ' +
        `them; it was not used. Change it if it is real, and run: trl secrets set ${said}`,
    );
  }
  return name;
}

async function fromPipe(): Promise<string> {
  if (process.stdin.isTTY) {
    throw usage(verb, '--stdin is for a pipe; without it the terminal is asked');
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const piece = Buffer.from(chunk);
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > valueBytesMax + 2) throw usage(verb, `it is larger than ${valueBytesMax} bytes`);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return text.decode(Buffer.concat(pieces)).replace(/\r?\n$/, '');
  } catch {
    throw usage(verb, 'it is not UTF-8 text');
  }
}

async function fromTerminal(name: string, signal: AbortSignal): Promise<string> {
  using terminal = Terminal.open('ask for a value without --stdin');
  const value = await terminal.secret(`Value of ${visible(name)} (not shown): `, signal);
  if (value === '') throw new Left();
  // Left alone, the other lines would go to the shell, and into its history.
  if (await terminal.hasMore()) {
    throw usage(verb, 'several lines were given; a value of several lines comes by --stdin');
  }
  return value;
}
