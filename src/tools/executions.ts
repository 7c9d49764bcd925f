/** Running commands: read, feed, end and list them. */
import * as z from 'zod/mini';
import { fromBase64, encodeUtf8 } from '../client/bytes.ts';
import { TrlError } from '../errors.ts';
import { limits } from '../limits.ts';
import type { ExecReadAnswer } from '../api/exec.ts';
import type { ExecView, StreamChunk } from '../api/receipt.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { findNamedExec, findNamedSession } from './handles.ts';
import { redactionsField } from './redactions.ts';
import { terminalBounds } from './run-command.ts';
import { readOnlyAnnotations, defineTool } from './tool.ts';
import type { Tool, ToolContext } from './tool.ts';

const waitMsMax = 120_000;
const untilMsDefault = 30_000;
const untilLines = 100;
const beatMs = 2_000;
const readMax = 256 * 1024;
const linesMax = 100_000;
const listed = 50;
const commandShown = 200;

const state = z.string().check(z.describe('waiting, running, exited, lost, refused'));

export const terminalOutputTool: Tool = defineTool(
  {
    name: 'terminal_output',
    title: 'Read the output of a command',
    description:
      'Reads what a command wrote, from byte "from" on, stdout and stderr in ' +
      'the order they came. ' +
      'Ask again from "next". "until" waits for a text in it, or for the end, and answers the ' +
      'last lines; "wait_ms" alone waits for more, or for the person whom a command waits for. ' +
      '"grep" and "tail" keep lines of all there is from "from" on.',
    input: z.strictObject({
      exec_id: argumentSchemas.execId,
      from: z.optional(argumentSchemas.whole(0).check(z.describe('offset in bytes; default 0'))),
      max: z.optional(
        argumentSchemas
          .whole(1, readMax)
          .check(
            z.describe(`bytes at once; default ${terminalBounds.outputBytes}, all of it with tail`),
          ),
      ),
      wait_ms: z.optional(
        argumentSchemas.whole(0, waitMsMax).check(z.describe('default 0, with until 30000')),
      ),
      until: z.optional(
        argumentSchemas.text(1_024).check(z.describe('text to wait for; "": the end')),
      ),
      grep: z.optional(argumentSchemas.words(1_024).check(z.describe('only lines with this text'))),
      tail: z.optional(argumentSchemas.whole(1, linesMax).check(z.describe('only the last lines'))),
    }),
    output: {
      exec_id: z.string(),
      state,
      exit_code: z.int(),
      output: z.string(),
      from: z.int(),
      next: z.int().check(z.describe('offset to ask for next')),
      gap: z.object({ from: z.int(), to: z.int() }),
      found: z.boolean().check(z.describe('whether until is there')),
      omitted_lines: z.int().check(z.describe('found and not answered whole: over max')),
      redactions: redactionsField,
    },
    annotations: readOnlyAnnotations,
    run: async (args, context) => {
      const { exec_id, from, max, until, grep } = args;
      const waits = until !== undefined;
      const wait_ms = args.wait_ms ?? (waits ? untilMsDefault : undefined);
      const tail = args.tail ?? (waits && grep === undefined ? untilLines : undefined);
      const filters = grep !== undefined || args.tail !== undefined;
      using _ = progressing(context);
      const answer = await context.client.read(
        {
          exec_id: await findNamedExec(context, exec_id),
          max: max ?? (filters ? readMax : terminalBounds.outputBytes),
          ...(from === undefined ? {} : { from }),
          ...(wait_ms === undefined ? {} : { wait_ms }),
          ...(grep === undefined ? {} : { grep }),
          ...(tail === undefined ? {} : { tail }),
          ...(until === undefined ? {} : { until }),
        },
        context.signal,
      );
      const output = textOf(answer.chunks);
      const { chunks: _chunks, ...rest } = answer;
      return { data: { ...rest, output }, text: readText(answer, output) };
    },
  },
  parseToolArguments,
);

/** Reports progress, for a client that abandons silent calls. */
function progressing({ progress }: ToolContext): Disposable {
  let count = 0;
  const timer = setInterval(() => progress((count += 1), 'waiting'), beatMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Bytes of both streams, joined before decoding: two chunks may share a character. */
function textOf(chunks: readonly StreamChunk[]): string {
  // A byte order mark is output like any other.
  const decoder = () => new TextDecoder('utf-8', { ignoreBOM: true });
  const decoders = { stdout: decoder(), stderr: decoder() };
  const parts = chunks.map((chunk) => {
    const bytes = 'data' in chunk ? encodeUtf8(chunk.data) : fromBase64(chunk.b64);
    return decoders[chunk.stream].decode(bytes, { stream: true });
  });
  return [...parts, decoders.stdout.decode(), decoders.stderr.decode()].join('');
}

function readText(answer: ExecReadAnswer, output: string) {
  const { state: now, exit_code: code, next, gap, omitted_lines: omitted } = answer;
  const lost = gap === undefined ? '' : `[bytes ${gap.from} to ${gap.to} are no longer held]\n`;
  const body = output === '' || output.endsWith('\n') ? output : `${output}\n`;
  const end = code === undefined ? now : `${now}, exit ${code}`;
  const cut = omitted === undefined ? '' : `[${omitted} lines are cut or left out]\n`;
  return `${lost}${cut}${body}[${end}; next offset ${next}]`;
}

export const terminalInputTool: Tool = defineTool(
  {
    name: 'terminal_input',
    title: 'Write to the input of a command',
    description:
      'Writes text to the standard input of a command that was started with "background"; with ' +
      '"eof" the input ends. End a line with \\n.',
    input: z.strictObject({
      exec_id: argumentSchemas.execId,
      data: z.optional(argumentSchemas.text(limits.stdinBytes.max)),
      eof: z.optional(argumentSchemas.flag.check(z.describe('end the input'))),
    }),
    output: { exec_id: z.string(), bytes: z.int(), eof: z.boolean() },
    annotations: { ...readOnlyAnnotations, readOnlyHint: false, idempotentHint: false },
    run: async ({ exec_id, data = '', eof = false }, context) => {
      if (data === '' && !eof) {
        const message = 'Cannot call terminal_input: give "data", "eof", or both';
        throw new TrlError('INVALID_PARAMS', message);
      }
      const id = await findNamedExec(context, exec_id);
      await context.client.write({ exec_id: id, data, eof });
      const bytes = encodeUtf8(data).length;
      const end = eof ? ', and its end' : '';
      return { data: { exec_id: id, bytes, eof }, text: `${bytes} bytes written to ${id}${end}` };
    },
  },
  parseToolArguments,
);

export const terminalStopTool: Tool = defineTool(
  {
    name: 'terminal_stop',
    title: 'End a command',
    description:
      'Ends one command, or all commands of a session: TERM, then KILL after a second. With ' +
      '"signal" just that signal is sent.',
    input: z.strictObject({
      exec_id: z.optional(argumentSchemas.execId),
      session_id: z.optional(
        argumentSchemas.sessionId.check(z.describe('ends all that runs in it')),
      ),
      signal: z.optional(
        z
          .string({ error: 'the name of a signal' })
          .check(
            z.regex(/^(SIG)?[A-Z][A-Z0-9+-]{1,15}$/, 'the name of a signal, such as INT'),
            z.describe('INT, TERM, KILL, HUP, …'),
          ),
      ),
    }),
    output: { stopped: z.array(z.string()) },
    annotations: { ...readOnlyAnnotations, readOnlyHint: false, destructiveHint: true },
    run: async ({ exec_id, session_id, signal }, context) => {
      if ((exec_id === undefined) === (session_id === undefined)) {
        const message = 'Cannot call terminal_stop: give "exec_id" or "session_id", and not both';
        throw new TrlError('INVALID_PARAMS', message);
      }
      const target =
        exec_id === undefined
          ? { session_id: await findNamedSession(context, session_id ?? '') }
          : { exec_id: await findNamedExec(context, exec_id) };
      const stopped = await context.client.cancel({
        ...target,
        ...(signal === undefined ? {} : { signal }),
      });
      const text = stopped.length === 0 ? 'Nothing was running.' : `Ended: ${stopped.join(', ')}`;
      return { data: { stopped }, text };
    },
  },
  parseToolArguments,
);

export const terminalCloseTool: Tool = defineTool(
  {
    name: 'terminal_close',
    title: 'End a session',
    description:
      'Ends a session: its exported variables and its private files. Changes in the workspace ' +
      'stay. Commands that name no session get another one. With "force" what runs in it ' +
      'ends, too.',
    input: z.strictObject({
      session_id: argumentSchemas.sessionId.check(z.describe('session_id of an earlier answer')),
      force: z.optional(argumentSchemas.flag.check(z.describe('end what runs in it, too'))),
    }),
    output: { session_id: z.string(), state: z.string() },
    annotations: { ...readOnlyAnnotations, readOnlyHint: false, destructiveHint: true },
    run: async ({ session_id, force = false }, context) => {
      const id = await findNamedSession(context, session_id);
      await context.client.session(id).destroy({ force });
      return { data: { session_id: id, state: 'terminated' }, text: `Ended: ${id}` };
    },
  },
  parseToolArguments,
);

export const terminalListTool: Tool = defineTool(
  {
    name: 'terminal_list',
    title: 'List sessions and commands',
    description: `Lists the sessions that you may use, and their last ${listed} commands.`,
    input: z.strictObject({ session_id: z.optional(argumentSchemas.sessionId) }),
    output: {
      sessions: z.array(
        z.object({
          session_id: z.string(),
          name: z.nullable(z.string()),
          state: z.string(),
          working_dir: z.string(),
          workspace: z.nullable(z.string()),
        }),
      ),
      execs: z.array(
        z.object({
          exec_id: z.string(),
          session_id: z.string(),
          state,
          mode: z.string(),
          command: z.string(),
          started_at: z.string(),
          exit_code: z.optional(z.int()),
          approval_id: z.optional(z.string()),
        }),
      ),
      omitted: z.int().check(z.describe('sessions and commands that are not listed')),
    },
    annotations: readOnlyAnnotations,
    run: async ({ session_id }, context) => {
      const { client, sessions: own } = context;
      const id = session_id === undefined ? undefined : await findNamedSession(context, session_id);
      const [sessions, all] = await Promise.all([
        id === undefined
          ? client.sessions()
          : client
              .session(id)
              .info()
              .then((one) => [one]),
        client.execs(id),
      ]);
      const isOwn = await Promise.all(
        sessions.map(async (one) => (await own.mayUse?.(one.session_id)) !== false),
      );
      const live = sessions.filter(({ state: now }, at) => now !== 'terminated' && isOwn[at]);
      const hidden = new Set(sessions.flatMap((one, at) => (isOwn[at] ? [] : [one.session_id])));
      const execs = all.filter((one) => !hidden.has(one.session_id));
      const newest = execs.toSorted((a, b) => b.started_at.localeCompare(a.started_at));
      const data = {
        sessions: live.slice(0, listed).map((one) => ({
          session_id: one.session_id,
          name: one.name,
          state: one.state,
          working_dir: one.working_dir,
          workspace: one.workspace,
        })),
        execs: newest.slice(0, listed).map(execRow),
        omitted: Math.max(0, live.length - listed) + Math.max(0, newest.length - listed),
      };
      const lines = [
        ...data.sessions.map((one) => `${one.session_id} ${one.state} ${one.working_dir}`),
        ...data.execs.map((one) => `${one.exec_id} ${one.state} ${firstLine(one.command)}`),
        ...(data.omitted === 0 ? [] : [`${data.omitted} more are not listed`]),
      ];
      return { data, text: lines.length === 0 ? 'There are none.' : lines.join('\n') };
    },
  },
  parseToolArguments,
);

function execRow(one: ExecView) {
  const { exec_id, session_id, state: now, mode, command, started_at } = one;
  return {
    exec_id,
    session_id,
    state: now,
    mode,
    command: command.length > commandShown ? `${command.slice(0, commandShown)}…` : command,
    started_at,
    ...(one.exit_code === undefined ? {} : { exit_code: one.exit_code }),
    ...(one.approval_id === undefined ? {} : { approval_id: one.approval_id }),
  };
}

const firstLine = (text: string): string => text.split('\n', 1)[0] ?? '';
