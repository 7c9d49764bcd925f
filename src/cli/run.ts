/** `trl run`: one command, in a session of its own unless one is named. */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { Client, Session, SessionCreateParams, StartOptions } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { usage } from './args.ts';
import type { Args } from './args.ts';
import { isPiped } from './input.ts';
import { Interrupts } from './interrupts.ts';
import { checkSessionFlags, execParams, sessionParams } from './options.ts';
import { Progress } from './progress.ts';
import { commandText } from './quote.ts';
import { findSession, reach } from './reach.ts';
import { relay, terminalSize } from './relay.ts';

export async function run(args: Args): Promise<number> {
  if (args.words.length === 0) {
    throw usage('run', 'there is no command; example: trl run -- ls -l');
  }
  const named = args.text('session');
  if (named !== undefined) {
    checkSessionFlags(args);
  }
  using interrupts = new Interrupts();
  try {
    return await runIn(args, named, interrupts);
  } catch (error) {
    // Interrupted before there was a command: nothing else is to be said.
    if (interrupts.signal.aborted && error === interrupts.signal.reason) {
      return interrupts.exitCode ?? 130;
    }
    throw error;
  }
}

async function runIn(
  args: Args,
  named: string | undefined,
  interrupts: Interrupts,
): Promise<number> {
  const { signal } = interrupts;
  const cwd = workingDirectory(args);
  const pty = args.has('pty');
  const stdin = pty || args.has('stdin') || isPiped();
  const ofSession = sessionParams(args, cwd);
  const ofCommand = commandParams(args, stdin);
  using progress = new Progress(!args.has('quiet'));
  progress.begin('starting the runtime');
  // Nothing is looked up in a runtime that has no sessions yet.
  const ephemeral = named === undefined ? { ephemeral: { workspaceRoots: [cwd] } } : {};
  await using client = await reach(args, { ...ephemeral, signal });
  signal.throwIfAborted();
  progress.begin('preparing the session');
  await using place = await openSession(client, named, ofSession);
  signal.throwIfAborted();
  progress.end();
  const stream = place.session.stream(commandText(args.words), {
    ...ofCommand,
    ...(named !== undefined && args.has('cwd') ? { cwd } : {}),
  });
  return await relay(client, stream, interrupts, {
    json: args.has('json'),
    raw: args.has('raw'),
    quiet: args.has('quiet'),
    stdin,
    pty,
    cancels: true,
  });
}

/** What `run` and `exec start` have in common. */
export function commandParams(args: Args, stdin: boolean): StartOptions {
  const { env, ...params } = execParams(args);
  const term = process.env['TERM'];
  const terminal = args.has('pty') && term !== undefined ? { TERM: term } : {};
  return {
    ...params,
    ...(args.has('pty') ? { pty: terminalSize() } : {}),
    ...(env === undefined && !args.has('pty') ? {} : { env: { ...terminal, ...env } }),
    ...(stdin ? { stdin_open: true } : {}),
  };
}

/** The named session; else a new one that is destroyed with what is returned. */
async function openSession(
  client: Client,
  named: string | undefined,
  params: SessionCreateParams,
): Promise<AsyncDisposable & { readonly session: Session }> {
  if (named !== undefined) {
    return { session: await findSession(client, named), [Symbol.asyncDispose]: async () => {} };
  }
  const session = await client.createSession(params);
  return {
    session,
    [Symbol.asyncDispose]: async () => {
      // An own runtime takes its sessions with it; from another one the session may be gone.
      if (!client.ownsDaemon) {
        await session.destroy({ force: true }).catch(() => {});
      }
    },
  };
}

/** The absolute path that `--cwd` names, else this directory. */
export function workingDirectory(args: Args): string {
  const asked = args.text('cwd');
  if (asked === undefined) {
    return process.cwd();
  }
  // A path inside a named session need not exist out here.
  if (args.has('session')) {
    return asked;
  }
  try {
    return realpathSync(path.resolve(asked));
  } catch (cause) {
    const message = `Cannot use --cwd "${asked}": there is no such directory`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
