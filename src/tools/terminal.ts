/** `terminal` and `terminal_exec`: one command, in the conversation's session or in the project. */
import * as z from 'zod/mini';
import type { SessionId } from '../client/index.ts';
import { TrlError } from '../errors.ts';
import { quoteWord } from '../quote.ts';
import {
  commandResultFields,
  endedCommandResult,
  startedCommandResult,
  waitingForApprovalResult,
} from './command-results.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { trackBackgroundCommand } from './background-commands.ts';
import { resolveToolDirectory } from './directory.ts';
import { resolveCallSession } from './handles.ts';
import { detectNetworkNeed, hostsInText, isStateChanging } from '../network/network-need.ts';
import { runCommand, startCommand, terminalBounds } from './run-command.ts';
import { defineTool } from './tool.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

const { timeoutSecondsDefault, timeoutSecondsMax } = terminalBounds;

/**
 * A time-out above the maximum is shortened, with a note: prompts of other tools use longer ones.
 */
export const timeoutArgument = z
  .number({ error: 'seconds, a number > 0' })
  .check(
    z.gt(0, 'seconds, a number > 0'),
    z.lte(Number.MAX_SAFE_INTEGER / 1_000, 'seconds, a number > 0'),
    z.describe(
      `seconds; default ${timeoutSecondsDefault}, at most ${timeoutSecondsMax}: ` +
        'for what takes longer use background',
    ),
  );

/** The effective time-out, and the note about it. */
function timeoutOf(asked: number | undefined): {
  readonly seconds: number;
  readonly ms: number;
  readonly notes: readonly string[];
} {
  const seconds = Math.min(asked ?? timeoutSecondsDefault, timeoutSecondsMax);
  const ms = Math.max(1, Math.round(seconds * 1_000));
  if (asked === undefined || asked <= timeoutSecondsMax) return { seconds, ms, notes: [] };
  const note = `the time-out is ${timeoutSecondsMax} s, the most there is, not ${asked} s`;
  return { seconds, ms, notes: [note] };
}

const bounds =
  `It is ended after ${timeoutSecondsDefault} s (timeout: up to ${timeoutSecondsMax} s) ` +
  'with exit ' +
  'code 124 and what it wrote until then. Of stdout and stderr the first ' +
  'and last 4 KB come back; ' +
  'terminal_output reads the rest. Secrets in the output are hidden. A command that policy wants ' +
  'a person to see answers "waiting".';

const runs = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
} as const;

export const terminalTool: Tool = defineTool(
  {
    name: 'terminal',
    title: 'Run a command in a session',
    description:
      'Runs a shell command in a sandbox, in a session that keeps the working directory and ' +
      `exported variables from one command to the next. ${bounds} With "background" it runs ` +
      'beside others without a time-out, and its input stays open for terminal_input.',
    input: z.strictObject({
      command: argumentSchemas.command.check(z.describe('shell text')),
      session_id: z.optional(argumentSchemas.sessionId),
      env_keys: z.optional(
        argumentSchemas.envKeys.check(z.describe('names of secrets and variables that it gets')),
      ),
      cwd: z.optional(
        z
          .string({ error: 'a directory of the project' })
          .check(z.describe('directory, relative to the project; default: where the session is')),
      ),
      network: z.optional(
        argumentSchemas.flag.check(z.describe('it needs the network: a person is asked')),
      ),
      timeout: z.optional(timeoutArgument),
      background: z.optional(argumentSchemas.flag.check(z.describe('start it and answer at once'))),
    }),
    output: commandResultFields,
    annotations: runs,
    run: async (args, context) => {
      const { policy = 'auto' } = context;
      const need = args.network === undefined ? needIn(context, args) : null;
      const isOnline = args.network === true || (need !== null && context.isAnswered === true);
      const place = isOnline
        ? await onlineIn(context, args, need !== null && hostsInText(args.command).length > 0)
        : { sessionId: await resolveCallSession(context, args.session_id), cwd: args.cwd };
      const { sessionId, cwd } = place;
      const params = {
        command: args.command,
        ...(args.env_keys === undefined ? {} : { env_keys: args.env_keys }),
        ...(cwd === undefined ? {} : await cwdIn(context, { ...args, cwd }, sessionId)),
      };
      if (args.background === true) {
        const given = { ...params, stdin_open: true };
        const started = await startCommand(context, {
          sessionId,
          params: given,
          mode: 'detached',
          policy,
        });
        if ('approval_id' in started) return waitingForApprovalResult(started);
        if (started.exit_code === null) {
          trackBackgroundCommand(context.sessions, started.exec_id, args.command);
        }
        return startedCommandResult(sessionId, started);
      }
      const notes = noteOf(need, isOnline);
      const command = { sessionId, params, mode: 'foreground', policy, notes } as const;
      const result = await runTerminalCommand(context, command, args.timeout);
      if (isOnline && result.data['status'] === 'exited') await moveAlong(context, sessionId, cwd);
      return result;
    },
  },
  parseToolArguments,
);

/**
 * The conversation's own session follows the command's directory: the agent knows only one session.
 */
async function moveAlong(
  { client, sessions, workspace }: ToolContext,
  online: SessionId,
  before: string | undefined,
): Promise<void> {
  const { cwd } = await client.session(online).state();
  if (cwd === null || cwd === before || !`${cwd}/`.startsWith(`${workspace.root}/`)) return;
  const own = client.session(await sessions.cachedSession());
  // A busy session keeps its directory.
  await own.run(`cd -- ${quoteWord(cwd)}`, { policy: 'auto' }).catch(() => {});
}

/**
 * What in the text needs the network; `null`: nothing is recognised. A session that the call names
 * is not changed, nor is a session where the command leaves variables: they would be in the other
 * one.
 */
function needIn(
  { policy = 'auto' }: ToolContext,
  args: { readonly command: string; readonly session_id?: string | undefined },
): string | null {
  if (policy !== 'auto' || args.session_id !== undefined || isStateChanging(args.command)) {
    return null;
  }
  return detectNetworkNeed(args.command);
}

function noteOf(need: string | null, isOnline: boolean): readonly string[] {
  if (need === null) return [];
  return isOnline
    ? [`"${need}" needs the network: it ran in the session that has it; "network": false refuses`]
    : [`"${need}" needs the network, and nobody can be asked here: it ran without`];
}

/**
 * The session with network, or with hosts alone, in the directory of the conversation's own.
 *
 * @throws TrlError `INVALID_PARAMS` if the call names a session: that one has network, or not
 */
async function onlineIn(
  { client, sessions, workspace }: ToolContext,
  args: { readonly cwd?: string | undefined; readonly session_id?: string | undefined },
  isByHost: boolean,
): Promise<{ readonly sessionId: SessionId; readonly cwd: string }> {
  if (args.session_id !== undefined) {
    const message = 'Cannot take "network" with "session_id": it runs in a session of its own';
    throw new TrlError('INVALID_PARAMS', message);
  }
  const sessionId = await (isByHost ? sessions.hostsSession() : sessions.networkSession());
  const own = await sessions.cachedSession();
  // As if it ran there: exported variables and the directory are copied.
  await client.call('session.update', { session_id: sessionId, state_of: own });
  if (args.cwd !== undefined) return { sessionId, cwd: args.cwd };
  const { root } = workspace;
  const { cwd } = await client.session(own).state();
  return { sessionId, cwd: cwd !== null && `${cwd}/`.startsWith(`${root}/`) ? cwd : root };
}

/** In a session that the call names, the project is that session's workspace. */
async function cwdIn(
  { client, workspace }: ToolContext,
  args: { readonly cwd?: string | undefined; readonly session_id?: string | undefined },
  sessionId: SessionId,
): Promise<{ readonly cwd: string; readonly cwd_within: string }> {
  const isNamed = args.session_id !== undefined && args.session_id !== 'new';
  const info = isNamed ? await client.session(sessionId).info() : null;
  const root = info === null ? workspace.root : (info.workspace ?? info.working_dir);
  return { cwd: resolveToolDirectory(root, args.cwd ?? '.'), cwd_within: root };
}

export const terminalExecTool: Tool = defineTool(
  {
    name: 'terminal_exec',
    title: 'Run a command in the project',
    description:
      'Runs a shell command in a sandbox, in the directory of the project or in ' +
      '"workingDirectory" below it. Nothing carries from one call to the next, and calls may ' +
      `run side by side. ${bounds}`,
    input: z.strictObject({
      command: argumentSchemas.command.check(z.describe('shell text')),
      workingDirectory: z.optional(
        z
          .string({ error: 'a directory of the project' })
          .check(z.describe('relative to the project, or absolute in it; default: the project')),
      ),
      timeout: z.optional(timeoutArgument),
    }),
    output: commandResultFields,
    annotations: runs,
    run: async (args, context) => {
      // Refused before anything is created or looked up.
      const { root } = context.workspace;
      const cwd = resolveToolDirectory(root, args.workingDirectory ?? '.');
      const sessionId = await context.sessions.session();
      const params = { command: args.command, cwd, cwd_within: root };
      const command = { sessionId, params, mode: 'detached', policy: 'guarded' } as const;
      return runTerminalCommand(context, command, args.timeout);
    },
  },
  parseToolArguments,
);

/** Runs it within the limits of the terminal tools. */
export async function runTerminalCommand(
  context: ToolContext,
  command: Parameters<typeof runCommand>[1] & { readonly notes?: readonly string[] },
  timeoutSeconds: number | undefined,
): Promise<ToolResult> {
  const { ms, seconds, notes: late } = timeoutOf(timeoutSeconds);
  const { notes: own = [], ...rest } = command;
  const notes = [...own, ...late];
  const params = { ...command.params, timeout_ms: ms };
  const ran = await runCommand(context, { ...rest, params });
  if (ran.kind === 'asks') return waitingForApprovalResult(ran.approval);
  const cwd = command.mode === 'detached' ? { cwd: command.params.cwd ?? null } : {};
  return endedCommandResult(ran.receipt, { timeoutSeconds: seconds, notes, ...cwd });
}
