/** Ctrl-C and its kin: the first asks for an orderly end, the third ends at once. */
import { constants } from 'node:os';
import type { Client } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import { usageError } from './args.ts';
import { escapeHiddenText, printMessage } from './print.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

const handled = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const patience = 3;

/** 128 and the number of SIGINT, as for every program that Ctrl-C ends. */
export const interruptedExitCode = 130;

export class Interrupts implements Disposable {
  readonly #first = new AbortController();
  #count = 0;
  #code: number | null = null;
  #act: (count: number) => void = () => {};

  constructor() {
    for (const name of handled) {
      process.on(name, this.#take);
    }
  }

  /** Aborts at the first. */
  get signal(): AbortSignal {
    return this.#first.signal;
  }

  /** 128 and the number of the first signal, `null` when none came. */
  get exitCode(): number | null {
    return this.#code;
  }

  /** `act` is called at each, with its number; at once for those that came already. */
  each(act: (count: number) => void): void {
    this.#act = act;
    if (this.#count > 0) {
      act(this.#count);
    }
  }

  [Symbol.dispose](): void {
    for (const name of handled) {
      process.off(name, this.#take);
    }
  }

  readonly #take = (name: NodeJS.Signals): void => {
    this.#count += 1;
    this.#code ??= 128 + constants.signals[name];
    if (this.#count >= patience) {
      process.exit(this.#code);
    }
    this.#first.abort(new DOMException(`Ended by ${name}`, 'AbortError'));
    this.#act(this.#count);
  };
}

/**
 * Runs `act` and returns its exit code. If the person leaves a prompt or interrupts, it prints
 * `outcome` instead of an error.
 */
export async function cancellable(
  interrupts: Interrupts,
  outcome: string,
  act: () => Promise<number>,
): Promise<number> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !interrupts.signal.aborted) throw error;
    printMessage(outcome);
    return interrupts.exitCode ?? interruptedExitCode;
  }
}

const passphraseBytesMax = 1_024;
const triesMax = 3;

/** @throws TrlError INVALID_PARAMS where standard input is a terminal, or it is too long */
export async function readPassphraseFromStdin(verb: string): Promise<string> {
  if (process.stdin.isTTY) {
    throw usageError(verb, '--passphrase-stdin is for a pipe; without it the terminal is asked');
  }
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > passphraseBytesMax) throw usageError(verb, 'the passphrase is too long');
  }
  return text.replace(/\r?\n$/, '');
}

/**
 * Asks for the passphrase and tries `attempt` with it; after a wrong one again, three times in all.
 *
 * @throws Left for an empty one; what `attempt` throws, `AUTH_FAILED` after the last one only
 */
export async function withPassphrase<T>(
  terminal: ControllingTerminal,
  { prompt, signal }: { readonly prompt: string; readonly signal: AbortSignal },
  attempt: (passphrase: string) => Promise<T>,
): Promise<T> {
  for (let left = triesMax; ; left -= 1) {
    const passphrase = await terminal.secret(prompt, signal);
    if (passphrase === '') throw new PromptCancelledError();
    try {
      return await attempt(passphrase);
    } catch (error) {
      if (left <= 1 || !isTrlError(error, 'AUTH_FAILED')) throw error;
      terminal.write(`${escapeHiddenText(error.message)}\n`);
    }
  }
}

/**
 * Calls with the passphrase of the enrolled person, which is asked for at the terminal only; where
 * nobody is enrolled, without one.
 *
 * @throws Left when they leave the prompt
 */
export async function withPersonProof<T>(
  client: Client,
  signal: AbortSignal,
  call: (proof: { readonly passphrase?: string }) => Promise<T>,
): Promise<T> {
  const { enrolled } = await client.approvalStatus();
  if (!enrolled) return call({});
  using terminal = ControllingTerminal.open('prove that you are the enrolled person');
  return await withPassphrase(terminal, { prompt: 'Passphrase: ', signal }, (passphrase) =>
    call({ passphrase }),
  );
}
