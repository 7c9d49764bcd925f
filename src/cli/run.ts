/** `trl run`: one command, in a session of its own unless one is named. */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import type {
  Client,
  ExecEnd,
  Session,
  SessionCreateParams,
  StartOptions,
} from '../client/index.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { quoteArgv } from '../quote.ts';
import { detectNetworkNeed, hostsInText } from '../network/network-need.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { hasWaitingChanges, printChanges } from './change-lines.ts';
import { Interrupts } from './interrupts.ts';
import { checkSessionFlags, execParams, readWorkspaceModeFlag, sessionParams } from './options.ts';
import { escapeControls, printDimmed } from './print.ts';
import { isStdinPiped, relayCommand, terminalSize } from './relay.ts';
import { connectProject, connectRuntime, findSessionByWord } from './runtime-connection.ts';
import type { ProjectConnection } from './runtime-connection.ts';
import { Progress } from './standard-output.ts';

export async function runSingleCommand(args: CliArguments): Promise<number> {
  if (args.words.length === 0) {
    throw usageError('run', 'there is no command; example: trl run -- ls -l');
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
    throw withOwnVariable(args, error);
  }
}

/** A runtime that all share has no variable of this shell; one of the command's own has. */
function withOwnVariable(args: CliArguments, error: unknown): unknown {
  if (!isTrlError(error, 'INVALID_PARAMS') || args.has('private')) return error;
  const name = args.all('env-key').find((one) => error.message.endsWith(`secrets set ${one}`));
  if (name === undefined || process.env[name] === undefined) return error;
  const help = 'it is set in this shell, which the shared runtime does not see: or add --private';
  return new TrlError(error.code, `${error.message} (${help})`, { cause: error });
}

async function runIn(
  args: CliArguments,
  named: string | undefined,
  interrupts: Interrupts,
): Promise<number> {
  const { signal } = interrupts;
  const cwd = workingDirectory(args);
  const pty = args.has('pty');
  const stdin = pty || args.has('stdin') || isStdinPiped();
  const ofCommand = commandParams(args, stdin);
  const { workspace_mode: mode } = ofCommand;
  using progress = new Progress(!args.has('quiet'));
  progress.begin('starting the runtime');
  await using reached = await reachFor(args, named === undefined ? cwd : null, signal);
  const { client } = reached;
  signal.throwIfAborted();
  if (mode === 'staged' && client.ownsDaemon) throw nowhereToStage();
  // A file decides in a runtime of this command's own only; elsewhere the runtime has its policy.
  const text = commandText(args.words);
  const isAnswered = process.stdin.isTTY && process.stderr.isTTY;
  const ofSession = {
    ...sessionParams(args, cwd, client.ownsDaemon),
    ...networkSessionParams(args, text, isAnswered),
  };
  progress.begin('preparing the session');
  await using place = await openSession(client, named, ofSession);
  signal.throwIfAborted();
  progress.end();
  const stream = place.session.stream(text, {
    ...ofCommand,
    ...(named !== undefined && args.has('cwd') ? { cwd } : {}),
  });
  const how = {
    json: args.has('json'),
    raw: args.has('raw'),
    quiet: args.has('quiet'),
    stdin,
    pty,
    cancels: true,
    onEnded: (end: ExecEnd): void => {
      // What waits is decided about later, in its session.
      if (hasWaitingChanges(end)) place.keep();
      if (args.has('quiet') || args.has('json')) return;
      const isAll = args.has('verbose') || args.has('dry-run');
      const guides = isAll || process.stderr.isTTY;
      printChanges(end, { which: isAll ? 'all' : 'attention', guides, ends: client.ownsDaemon });
    },
  };
  try {
    return await relayCommand(client, stream, interrupts, how);
  } catch (error) {
    // Loaded only here: most commands are asked about by nobody.
    const { askAtTerminal } = await import('./terminal-approval.ts');
    const waits = isTrlError(error, 'APPROVAL_REQUIRED');
    const execId = await askAtTerminal(client, error, signal).catch((refused: unknown) => {
      // What nobody answered here waits on in its session.
      place.keep(waits && !signal.aborted && !isTrlError(refused, 'APPROVAL_DENIED'));
      throw signal.aborted ? signal.reason : refused;
    });
    await using asked = client.attach(execId, { cancelOnAbort: true });
    return await relayCommand(client, asked, interrupts, how);
  }
}

/** A session that is named has its directory already. */
async function reachFor(
  args: CliArguments,
  cwd: string | null,
  signal: AbortSignal,
): Promise<Pick<ProjectConnection, 'client' | typeof Symbol.asyncDispose>> {
  if (cwd !== null) return connectProject(args, cwd, { signal });
  const client = await connectRuntime(args, { signal });
  return { client, [Symbol.asyncDispose]: () => client[Symbol.asyncDispose]() };
}

function nowhereToStage(): TrlError {
  const message =
    'Cannot stage changes: this runtime ends with its command; start one with "trl serve", or ' +
    'see what would change with --dry-run';
  return new TrlError('INVALID_PARAMS', message);
}

/** What `run` and `exec start` have in common. */
export function commandParams(args: CliArguments, stdin: boolean): StartOptions {
  const { env, ...params } = execParams(args);
  const mode = readWorkspaceModeFlag(args);
  const term = process.env['TERM'];
  const terminal = args.has('pty') && term !== undefined ? { TERM: term } : {};
  return {
    ...params,
    ...(args.has('pty') ? { pty: terminalSize() } : {}),
    ...(env === undefined && !args.has('pty') ? {} : { env: { ...terminal, ...env } }),
    ...(stdin ? { stdin_open: true } : {}),
    ...(mode === undefined ? {} : { workspace_mode: mode }),
  };
}

interface SessionHandle extends AsyncDisposable {
  readonly session: Session;
  /** Leaves the session to what waits in it for a person; or no longer. */
  keep(keeps?: boolean): void;
}

/** The named session; else a new one that is destroyed with what is returned. */
async function openSession(
  client: Client,
  named: string | undefined,
  params: SessionCreateParams,
): Promise<SessionHandle> {
  let kept = named !== undefined;
  const session =
    named === undefined
      ? await client.createSession(params)
      : await findSessionByWord(client, named);
  return {
    session,
    keep: (keeps = true) => {
      kept = keeps || named !== undefined;
    },
    [Symbol.asyncDispose]: async () => {
      // An own runtime takes its sessions with it; from another one the session may be gone.
      if (!client.ownsDaemon && !kept) {
        await session.destroy({ force: true }).catch(() => {});
      }
    },
  };
}

/** The absolute path that `--cwd` names, else this directory. */
export function workingDirectory(args: CliArguments): string {
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

// Network for `trl run`: what its text is seen to need is asked about before it starts.

const chosen = ['net', 'network', 'policy', 'sandbox', 'session', 'quiet'] as const;

/**
 * What its session gets besides; nothing where a flag says what is wanted, or nobody sits at the
 * terminal to answer. It passes `auto`, so that network is always a question.
 */
export function networkSessionParams(
  args: Pick<CliArguments, 'has'>,
  text: string,
  isAnswered: boolean,
): Pick<SessionCreateParams, 'network' | 'policy'> {
  if (!isAnswered || chosen.some((name) => args.has(name))) return {};
  const need = detectNetworkNeed(text);
  if (need === null) return {};
  printDimmed(
    `"${escapeControls(need)}" needs the network, so it is asked about; --net off runs it without`,
  );
  return hostsInText(text).length > 0
    ? { network: 'hosts', policy: 'auto' }
    : { network: 'host', policy: 'auto' };
}

/**
 * The command of words given on the command line: one is shell text as it is, several are an
 * argument list.
 */
export function commandText(words: readonly string[]): string {
  const [only = ''] = words;
  return words.length === 1 ? only : quoteArgv(words);
}
