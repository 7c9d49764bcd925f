/** The tools of an agent, and the one way to call one. */
import { fieldOf } from '../json-shape.ts';
import type { Client } from '../client/index.ts';
import { errorTable, isTrlError, TrlError } from '../errors.ts';
import { nearestWord } from '../nearest-word.ts';
import { withEndedCommands } from './background-commands.ts';
import {
  terminalCloseTool,
  terminalInputTool,
  terminalListTool,
  terminalOutputTool,
  terminalStopTool,
} from './executions.ts';
import {
  editFileTool,
  listFilesTool,
  readFileTool,
  searchFilesTool,
  writeFileTool,
} from './files.ts';
import { pythonRpcTool } from './python.ts';
import { withRedactions } from './redactions.ts';
import { findRegisteredTool, listRegisteredTools } from './registered-tools.ts';
import { secretsTool } from './secrets.ts';
import { terminalTool, terminalExecTool } from './terminal.ts';
import type { Tool, ToolContext, ToolResult } from './tool.ts';
import { publishCheckTool, workspaceDiffTool } from './workspace.ts';

export { createConversation } from './conversation.ts';
export { callRegisteredTool } from './registered-tools.ts';
export {
  bindingLines,
  submitApprovalDecision,
  approvalInputLines,
  escapeForeignText,
  acceptsUnprovenAnswers,
  escapeForeignInline,
} from './approval-prompts.ts';
export type { Conversation, Tool, ToolContext, ToolPolicy, ToolResult } from './tool.ts';

/** The built-in tools, in the order of a list. */
export const builtinTools: readonly Tool[] = [
  terminalTool,
  terminalExecTool,
  terminalOutputTool,
  terminalInputTool,
  terminalStopTool,
  terminalCloseTool,
  terminalListTool,
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  searchFilesTool,
  pythonRpcTool,
  secretsTool,
  workspaceDiffTool,
  publishCheckTool,
];

/** The built-in tools, and those that are registered with the runtime, by name. */
export async function listTools(client: Client): Promise<readonly Tool[]> {
  const registered = await listRegisteredTools(client);
  const own = new Set(builtinTools.map(({ name }) => name));
  const added = registered.filter(({ name }) => !own.has(name));
  return [...builtinTools, ...added.toSorted((a, b) => (a.name < b.name ? -1 : 1))];
}

/**
 * Calls a tool. A failure is a result with `error`, so that a model reads the reason; a command's
 * non-zero exit and its time-out are not failures.
 *
 * @throws the signal's reason when the call was cancelled
 */
export async function callTool(
  context: ToolContext,
  name: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  try {
    const result = await (await toolNamed(context.client, name)).call(args, context);
    return withRedactions(await withEndedCommands(result, context));
  } catch (error) {
    if (context.signal.aborted) throw error;
    return withRedactions(await withEndedCommands(toFailedResult(error), context));
  }
}

async function toolNamed(client: Client, name: string): Promise<Tool> {
  const found = builtinTools.find((tool) => tool.name === name);
  if (found !== undefined) return found;
  const registered = await findRegisteredTool(client, name);
  if (registered !== null) return registered;
  const known = [...builtinTools, ...(await listRegisteredTools(client))].map((tool) => tool.name);
  const meant = nearestWord(name, known);
  const hint = meant === null ? '' : `; did you mean "${meant}"?`;
  const shown = JSON.stringify(name.length > 64 ? `${name.slice(0, 63)}…` : name);
  throw new TrlError('INVALID_PARAMS', `Cannot call a tool: there is none called ${shown}${hint}`);
}

/**
 * The reason of a failure, in the words of the runtime; for other errors only their kind is
 * reported.
 */
export function toFailedResult(error: unknown): ToolResult {
  const code = isTrlError(error) ? error.code : 'INTERNAL_ERROR';
  const message = isTrlError(error) ? error.message : 'The tool failed';
  const failure = { code, message, retry: errorTable[code].retry };
  const instead = isTrlError(error) ? insteadIn(error.data) : [];
  const text = [`${code}: ${message}`, ...instead].join('\n');
  const handles = isTrlError(error) ? handlesIn(error.data) : {};
  return { data: { ...handles, error: failure }, text, error: failure };
}

/** The alternative that the verdict offers. */
function insteadIn(data: TrlError['data']): string[] {
  const verdict: unknown = data?.['verdict'];
  if (typeof verdict !== 'object' || verdict === null) return [];
  const rules = fieldOf(verdict, 'rules');
  if (!Array.isArray(rules)) return [];
  return rules.slice(0, 8).flatMap((rule: unknown) => {
    if (typeof rule !== 'object' || rule === null) return [];
    const reason = fieldOf(rule, 'reason');
    const instead = fieldOf(rule, 'instead');
    return [
      ...(typeof reason === 'string' ? [`- ${String(fieldOf(rule, 'id'))}: ${reason}`] : []),
      ...(typeof instead === 'string' ? [`  instead: ${instead}`] : []),
    ];
  });
}

function handlesIn(data: TrlError['data']): Record<string, string> {
  const found = ['session_id', 'exec_id', 'approval_id'].flatMap((key) => {
    const value: unknown = data?.[key];
    return typeof value === 'string' ? [[key, value] as const] : [];
  });
  return Object.fromEntries(found);
}
