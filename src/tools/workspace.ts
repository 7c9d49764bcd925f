/** `workspace_diff` and `publish_check`: changes, and whether they may be published. */
import * as z from 'zod/mini';
import { toBase64, encodeUtf8 } from '../client/bytes.ts';
import { TrlError } from '../errors.ts';
import { publishKinds, type PublishCheckParams, type PublishVerdict } from '../api/publish.ts';
import { argumentSchemas, parseToolArguments } from './arguments.ts';
import { findRecordedExec, resolveCallSession } from './handles.ts';
import { redactionsField } from './redactions.ts';
import { readOnlyAnnotations, defineTool } from './tool.ts';
import type { Tool, ToolContext } from './tool.ts';

const diffShown = 64 * 1024;
const pathsMax = 1_000;
const pathBytesMax = 4_096;
const textBytesMax = 1024 * 1024;
const contextMax = 100;

const paths = z
  .array(argumentSchemas.words(pathBytesMax), { error: 'a list of paths' })
  .check(
    z.maxLength(pathsMax, `at most ${pathsMax} paths`),
    z.describe('these and what lies below them'),
  );

export const workspaceDiffTool: Tool = defineTool(
  {
    name: 'workspace_diff',
    title: 'Show what commands changed',
    description:
      'The changes of one command (exec_id), or of all commands of a session, as a unified diff ' +
      'with secrets hidden.',
    input: z.strictObject({
      session_id: z.optional(argumentSchemas.sessionId),
      exec_id: z.optional(argumentSchemas.execId),
      paths: z.optional(paths),
      context: z.optional(
        argumentSchemas.whole(0, contextMax).check(z.describe('lines around a change')),
      ),
    }),
    output: {
      diff: z.string(),
      files: z.array(
        z.object({
          path: z.string(),
          kind: z.string(),
          state: z.string(),
          added_lines: z.nullable(z.int()),
          removed_lines: z.nullable(z.int()),
          binary: z.boolean(),
        }),
      ),
      truncated: z.boolean(),
      redactions: redactionsField,
    },
    annotations: readOnlyAnnotations,
    run: async (args, context) => {
      if (args.exec_id !== undefined && args.session_id !== undefined) {
        const message = 'Cannot call workspace_diff: give "exec_id" or "session_id", and not both';
        throw new TrlError('INVALID_PARAMS', message);
      }
      const of =
        args.exec_id === undefined
          ? { session_id: await resolveCallSession(context, args.session_id) }
          : { exec_id: await findRecordedExec(context, args.exec_id) };
      const { diff, files, truncated } = await context.client.call('workspace.diff', {
        ...of,
        ...(args.paths === undefined ? {} : { paths: args.paths }),
        ...(args.context === undefined ? {} : { context: args.context }),
      });
      const isLong = diff.length > diffShown;
      const shown = isLong ? diff.slice(0, diffShown) : diff;
      const cut = truncated || isLong;
      const note = cut ? '\n[cut: name "paths" for the rest]' : '';
      const text = shown === '' ? 'Nothing was changed.' : `${shown}${note}`;
      return { data: { diff: shown, files, truncated: cut }, text };
    },
  },
  parseToolArguments,
);

const checkInput = z.strictObject({
  kind: z.optional(
    z
      .enum(publishKinds, { error: publishKinds.map((one) => `"${one}"`).join(', ') })
      .check(
        z.describe(
          'changes (default): of a session. exec: of a command. paths: files as they are. git: ' +
            'commits of "range". staged: the index. text: "text" itself',
        ),
      ),
  ),
  audience: z.optional(argumentSchemas.words(256).check(z.describe('who gets it; default public'))),
  session_id: z.optional(argumentSchemas.sessionId),
  exec_id: z.optional(argumentSchemas.execId),
  paths: z.optional(paths),
  range: z.optional(
    argumentSchemas.words(1_024).check(z.describe('for git: A..B, or one revision')),
  ),
  text: z.optional(
    argumentSchemas.text(textBytesMax).check(z.describe('for text: what would be sent')),
  ),
});
type CheckArgs = z.output<typeof checkInput>;

export const publishCheckTool: Tool = defineTool(
  {
    name: 'publish_check',
    title: 'Check what may leave the workspace',
    description:
      'Looks for secrets and content that policy denies in what is to leave ' +
      'the workspace, before ' +
      'a push, a post or a message. pass: it may leave. review: a person must look. block: it ' +
      'may not. Nothing is published.',
    input: checkInput,
    output: {
      decision: z.string().check(z.describe('pass, review, block')),
      basis: z.string(),
      audience: z.string(),
      items: z.int(),
      bytes: z.int(),
      digest: z.string(),
      findings: z.array(
        z.object({
          rule: z.string(),
          decision: z.string(),
          item: z.nullable(z.string()),
          trace: z.string(),
        }),
      ),
    },
    annotations: readOnlyAnnotations,
    run: async (args, context) => {
      const verdict = await context.client.call('publish.check', await targetOf(args, context));
      const findings = verdict.findings.map(({ rule, decision, item, trace }) => ({
        rule,
        decision,
        item,
        trace,
      }));
      const { decision, basis, audience, items, bytes, digest } = verdict;
      const data = { decision, basis, audience, items, bytes, digest, findings };
      return { data, text: verdictText(verdict) };
    },
  },
  parseToolArguments,
);

async function targetOf(args: CheckArgs, context: ToolContext): Promise<PublishCheckParams> {
  const kind = args.kind ?? kindOf(args);
  const base = {
    kind,
    ...(args.audience === undefined ? {} : { audience: args.audience }),
    ...(args.paths === undefined ? {} : { paths: args.paths }),
  };
  switch (kind) {
    case 'exec':
      return {
        ...base,
        exec_id: await findRecordedExec(context, needed(args.exec_id, 'exec', 'exec_id')),
      };
    case 'text':
      return {
        ...base,
        data: toBase64(encodeUtf8(needed(args.text, 'text', 'text'))),
        ...(await at()),
      };
    case 'git':
      return { ...base, range: needed(args.range, 'git', 'range'), ...(await at()) };
    case 'changes':
      return { ...base, session_id: await resolveCallSession(context, args.session_id) };
    case 'paths':
    case 'staged':
      return { ...base, ...(await at()) };
  }

  async function at() {
    return args.session_id === undefined
      ? { path: context.workspace.root }
      : { session_id: await resolveCallSession(context, args.session_id) };
  }
}

/** The kind that the given arguments imply, if only one kind takes them. */
function kindOf({ exec_id, range, text }: CheckArgs): CheckArgs['kind'] & string {
  if (exec_id !== undefined) return 'exec';
  if (range !== undefined) return 'git';
  return text === undefined ? 'changes' : 'text';
}

function needed(value: string | undefined, kind: string, name: string): string {
  if (value !== undefined) return value;
  throw new TrlError('INVALID_PARAMS', `Cannot call publish_check: "${kind}" needs "${name}"`);
}

function verdictText({ decision, items, bytes, findings }: PublishVerdict): string {
  const rows = findings.map((one) => `- ${one.decision} ${one.rule}: ${one.item ?? '(withheld)'}`);
  return [`${decision}: ${items} items, ${bytes} bytes`, ...rows].join('\n');
}
