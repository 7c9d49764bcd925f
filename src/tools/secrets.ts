/** `secrets`: names, never a value. */
import * as z from 'zod/mini';
import { TrlError } from '../errors.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { resolveCallSession } from './handles.ts';
import { defineTool } from './tool.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';

const actions = ['list', 'check', 'request', 'inject', 'delete'] as const;
const waitMsMax = 60_000;
const nameBytesMax = 256;
const reasonBytesMax = 4 * 1024;

const input = z.strictObject({
  action: z.enum(actions, { error: actions.map((one) => `"${one}"`).join(', ') }),
  name: z.optional(argumentSchemas.words(nameBytesMax).check(z.describe('the name of a secret'))),
  names: z.optional(
    z
      .array(argumentSchemas.words(nameBytesMax), { error: 'a list of names' })
      .check(
        z.minLength(1, 'a list of at least one name'),
        z.maxLength(256, 'at most 256 names'),
        z.describe('for inject; or one as name'),
      ),
  ),
  reason: z.optional(
    argumentSchemas.words(reasonBytesMax).check(z.describe('for request: what a person reads')),
  ),
  session_id: z.optional(argumentSchemas.sessionId),
  wait_ms: z.optional(
    argumentSchemas
      .whole(0, waitMsMax)
      .check(z.describe('for request: how long to wait for a person')),
  ),
});
type Args = z.output<typeof input>;
type Action = (typeof actions)[number];

const entry = z.object({
  name: z.string(),
  source: z.string(),
  origin: z.nullable(z.string()),
});

export const secretsTool: Tool = defineTool(
  {
    name: 'secrets',
    title: 'Secrets by name',
    description:
      'list: names that there are. check: whether one can be used. request: ' +
      'asks a person for one ' +
      '(name, reason); they type it, you never see it. inject: each later command of the session ' +
      'gets it as a variable, as policy permits; for one command use env_keys of terminal. ' +
      'delete: takes an injection back. No value is ever answered, and output hides them.',
    input,
    output: {
      action: z.string(),
      secrets: z.array(entry),
      problems: z.array(z.string()),
      name: z.string(),
      names: z.array(z.string()),
      state: z
        .string()
        .check(z.describe('check: ready, unread, missing, …; request: ready, pending, refused')),
      problem: z.nullable(z.string()),
      session_id: z.nullable(z.string()),
      remains: z.nullable(z.string()),
    },
    annotations: {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: true,
      openWorldHint: false,
    },
    run: (args, context) => acts[args.action](args, context),
  },
  parseToolArguments,
);

const acts: Readonly<Record<Action, (args: Args, context: ToolContext) => Promise<ToolResult>>> = {
  list: async (_, { client }) => {
    const { secrets: found, problems } = await client.call('secrets.list', {});
    const rows = found.map(({ name, source, origin }) => ({ name, source, origin }));
    const failures = problems.map(({ source, problem }) => `${source}: ${problem}`);
    const lines = [...rows.map(({ name, source }) => `${name} (${source})`), ...failures];
    const text = lines.length === 0 ? 'There are no secrets.' : lines.join('\n');
    return { data: { action: 'list', secrets: rows, problems: failures }, text };
  },
  check: async (args, { client }) => {
    const name = nameIn(args);
    const { state, problem } = await client.call('secrets.check', { name });
    const why = problem === null ? '' : `: ${problem}`;
    const data = { action: 'check', name, state, problem };
    return { data, text: `${name} is ${state}${why}` };
  },
  request: async (args, { client, signal }) => {
    const name = nameIn(args);
    const reason = args.reason ?? '';
    if (reason.trim() === '') throw missing('request', 'reason');
    const { wait_ms: waitMs } = args;
    const wait = waitMs === undefined ? {} : { wait_ms: waitMs };
    const { state } = await client.call('secrets.request', { name, reason, ...wait }, { signal });
    const next = {
      ready: 'use it by env_keys, or inject it.',
      pending: `a person has not given it yet: they run trl secrets set ${name}.`,
      refused: 'nobody will give it.',
    }[state];
    return { data: { action: 'request', name, state }, text: `${name} is ${state}: ${next}` };
  },
  inject: async (args, context) => {
    const names = args.names ?? [nameIn(args)];
    const session_id = await resolveCallSession(context, args.session_id);
    const answer = await context.client.call('secrets.inject', { session_id, names });
    const data = { action: 'inject', session_id, names: [...answer.names] };
    return { data, text: `Commands of ${session_id} get: ${answer.names.join(', ')}` };
  },
  delete: async (args, context) => {
    const name = nameIn(args);
    const session_id = await resolveCallSession(context, args.session_id);
    const answer = await context.client.call('secrets.delete', { name, session_id });
    const { remains } = answer;
    const data = { action: 'delete', name, session_id: answer.session_id, remains };
    return { data, text: `Commands of ${session_id} no longer get ${name}.` };
  },
};

function nameIn({ action, name, names }: Args): string {
  const [only, ...others] = names ?? [];
  const found = name ?? (others.length === 0 ? only : undefined);
  if (found === undefined || found === '') throw missing(action, 'name');
  return found;
}

const missing = (action: Action, argumentName: string): TrlError =>
  new TrlError('INVALID_PARAMS', `Cannot call secrets: "${action}" needs "${argumentName}"`);
