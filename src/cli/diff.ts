/** `trl diff`: what a command, or all commands of a session, changed. */
import { styleText } from 'node:util';
import type { WorkspaceDiffParams } from '../client/index.ts';
import type { Client } from '../client/index.ts';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { statLines } from './change-lines.ts';
import { findNewestExec, toWirePaths } from './current-directory.ts';
import { Progress } from './progress.ts';
import { findExecByWord, findSessionByWord, connectRecords } from './runtime-connection.ts';
import { printMessage, printJson } from './print.ts';
import { countFlagHint, parseCount } from './units.ts';
import { escapeHiddenText } from './escape-text.ts';

export async function runDiff(args: CliArguments): Promise<number> {
  const [first] = args.words;
  const isNamed = first !== undefined && /^x-[0-9a-f]+$/.test(first);
  if (isNamed && args.has('session')) {
    throw usageError('diff', 'name a command or a session, not both');
  }
  const context = args.read('context', parseCount, countFlagHint);
  using progress = new Progress(true);
  progress.begin('comparing');
  await using client = await connectRecords(args);
  const answer = await client.call('workspace.diff', {
    ...(await targetOf(client, args, isNamed ? first : null)),
    ...toWirePaths(isNamed ? args.words.slice(1) : args.words),
    ...(context === undefined ? {} : { context }),
  });
  progress.end();
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const lines = args.has('stat') ? statLines(answer.files) : formatDiffLines(answer.diff);
  if (answer.files.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  if (answer.truncated) printMessage('some of it is too large to show; name paths to see less');
  return 0;
}

type Target = Pick<WorkspaceDiffParams, 'exec_id' | 'session_id'>;

async function targetOf(client: Client, args: CliArguments, named: string | null): Promise<Target> {
  if (named !== null) return { exec_id: await findExecByWord(client, named) };
  const word = args.text('session');
  if (word !== undefined) return { session_id: (await findSessionByWord(client, word)).id };
  return { exec_id: await findNewestExec(client) };
}

/** For a terminal: coloured, and nothing in it can steer it. Elsewhere as it is. */
export function formatDiffLines(text: string): string[] {
  const lines = text.replace(/\n$/, '').split('\n');
  return process.stdout.isTTY ? lines.map(shown) : lines;
}

/** By how a line begins; the first that fits counts. */
const styles = [
  ['+++', 'bold'],
  ['---', 'bold'],
  ['diff ', 'bold'],
  ['+', 'green'],
  ['-', 'red'],
  ['@@', 'cyan'],
  ['#', 'dim'],
] as const;

function shown(line: string): string {
  // A tab is as harmless as it is usual.
  const text = line
    .split('\t')
    .map((part) => escapeHiddenText(part))
    .join('\t');
  const style = styles.find(([start]) => line.startsWith(start));
  return style === undefined ? text : styleText(style[1], text, { stream: process.stdout });
}
