/**
 * `trl secrets set NAME`: takes a value from a person at a terminal, or from a pipe. Never from an
 * argument: every process of the host can read those, and shells write them down.
 */
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { interruptedExitCode, Interrupts } from './interrupts.ts';
import { withPersonProof } from './passphrase.ts';
import { connectRuntime } from './runtime-connection.ts';
import { printMessage, printJson } from './print.ts';
import { PromptCancelledError, ControllingTerminal } from './terminal.ts';
import { escapeHiddenText } from './escape-text.ts';

const verb = 'secrets set';
const valueBytesMax = 64 * 1_024;

export async function runSecretsSet(args: CliArguments): Promise<number> {
  const name = nameOf(args);
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  try {
    const value = args.has('stdin') ? await fromPipe() : await fromTerminal(name, signal);
    const answer = await withPersonProof(client, signal, (proof) =>
      client.call('secrets.set', { name, value, ...proof }),
    );
    if (args.has('json')) printJson(answer);
    else {
      printMessage(`${name} is kept in the memory of the runtime, until it ends or you delete it`);
    }
    if (answer.warning !== null) printMessage(answer.warning);
    return 0;
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !signal.aborted) throw error;
    printMessage('nothing was kept');
    return interrupts.exitCode ?? interruptedExitCode;
  }
}

/** The one word; what looks like a value beside it is not repeated in the refusal. */
function nameOf(args: CliArguments): string {
  const [name, ...others] = args.words;
  if (name === undefined) throw usageError(verb, 'which one? for example: trl secrets set API_KEY');
  const at = name.indexOf('=');
  if (others.length > 0 || at !== -1) {
    const said = at === -1 ? name : name.slice(0, at);
    throw usageError(
      verb,
      'a value is never an argument, since every process can read arguments and shells keep ' +
        `them; it was not used. Change it if it is real, and run: trl secrets set ${said}`,
    );
  }
  return name;
}

async function fromPipe(): Promise<string> {
  if (process.stdin.isTTY) {
    throw usageError(verb, '--stdin is for a pipe; without it the terminal is asked');
  }
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    const piece = Buffer.from(chunk);
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > valueBytesMax + 2) {
      throw usageError(verb, `it is larger than ${valueBytesMax} bytes`);
    }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    return text.decode(Buffer.concat(pieces)).replace(/\r?\n$/, '');
  } catch {
    throw usageError(verb, 'it is not UTF-8 text');
  }
}

async function fromTerminal(name: string, signal: AbortSignal): Promise<string> {
  using terminal = ControllingTerminal.open('ask for a value without --stdin');
  const value = await terminal.secret(`Value of ${escapeHiddenText(name)} (not shown): `, signal);
  if (value === '') throw new PromptCancelledError();
  // Left alone, the other lines would go to the shell, and into its history.
  if (await terminal.hasMore()) {
    throw usageError(verb, 'several lines were given; a value of several lines comes by --stdin');
  }
  return value;
}
