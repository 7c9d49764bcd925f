/** Background commands that ended: the next answer of their conversation reports them. */
import * as z from 'zod/mini';
import type { Client, ExecId } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import type { Conversation, ToolContext, ToolResult } from './tool.ts';

const watchedMax = 64;
const nameMax = 60;

export const endedCommandsField = z
  .array(
    z.object({
      exec_id: z.string(),
      command: z.string(),
      state: z.string(),
      exit_code: z.optional(z.int()),
    }),
  )
  .check(z.describe('commands in the background that ended since the last answer'));

type Ended = z.infer<typeof endedCommandsField>[number];

/** Remembers a command whose end is to be reported; of many, the newest. */
export function trackBackgroundCommand(
  { background }: Conversation,
  id: ExecId,
  command: string,
): void {
  if (background === undefined) return;
  const name = command.trim().split('\n', 1)[0] ?? '';
  background.set(id, name.length > nameMax ? `${name.slice(0, nameMax - 1)}…` : name);
  const [oldest] = background.keys();
  if (background.size > watchedMax && oldest !== undefined) background.delete(oldest);
}

/** The result, with the ends of commands that were not yet reported. */
export async function withEndedCommands(
  result: ToolResult,
  context: ToolContext,
): Promise<ToolResult> {
  const { client, sessions, signal } = context;
  const { background = new Map<ExecId, string>() } = sessions;
  if (background.size === 0 || signal.aborted) return result;
  const rows = await Promise.all(
    [...background].map(async ([id, command]) => endOf(client, id, command)),
  );
  const ended = rows.filter((row) => row !== null).filter(({ id }) => background.delete(id));
  // An answer about the command reports its end itself.
  const said = result.data['exit_code'] === undefined ? null : result.data['exec_id'];
  const news = ended.flatMap(({ id, row }) => (row === null || said === id ? [] : [row]));
  if (news.length === 0) return result;
  const lines = news.map(({ exec_id: id, command, state, exit_code: code }) => {
    const how = code === undefined ? `is ${state}` : `ended, exit ${code}`;
    return `[note] In the background ${id} ${how}: ${command}`;
  });
  const text = [result.text, ...lines].filter((part) => part !== '').join('\n');
  return { ...result, data: { ...result.data, ended: news }, text };
}

/** `null`: it runs; without a row the runtime no longer knows it. */
async function endOf(
  client: Client,
  id: ExecId,
  command: string,
): Promise<{ readonly id: ExecId; readonly row: Ended | null } | null> {
  try {
    const { state, exit_code: code } = await client.exec(id);
    if (state === 'running' || state === 'waiting') return null;
    const exit = code === undefined ? {} : { exit_code: code };
    return { id, row: { exec_id: id, command, state, ...exit } };
  } catch (error) {
    return isTrlError(error, 'EXEC_NOT_FOUND') ? { id, row: null } : null;
  }
}
