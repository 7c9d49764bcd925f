/** `trl diff`: what a command, or all commands of a session, changed. */
import { styleText } from 'node:util';
import type { WorkspaceDiffParams } from '../client/index.ts';
import type { Client } from '../client/index.ts';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { statLines } from './change-lines.ts';
import { newestExecHere, pathsOf } from './here.ts';
import { Progress } from './progress.ts';
import { findExec, findSession, reachRecords } from './reach.ts';
import { say, sayJson } from './show.ts';
import { countWanted, parseCount } from './units.ts';
import { visible } from './visible.ts';

export async function diff(args: Args): Promise<number> {
  const [first] = args.words;
  const isNamed = first !== undefined && /^x-[0-9a-f]+$/.test(first);
  if (isNamed && args.has('session')) {
    throw usage('diff', 'name a command or a session, not both');
  }
  const context = args.read('context', parseCount, countWanted);
  using progress = new Progress(true);
  progress.begin('comparing');
  await using client = await reachRecords(args);
  const answer = await client.call('workspace.diff', {
    ...(await targetOf(client, args, isNamed ? first : null)),
    ...pathsOf(isNamed ? args.words.slice(1) : args.words),
    ...(context === undefined ? {} : { context }),
  });
  progress.end();
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const lines = args.has('stat') ? statLines(answer.files) : diffLines(answer.diff);
  if (answer.files.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  if (answer.truncated) say('some of it is too large to show; name paths to see less');
  return 0;
}

type Target = Pick<WorkspaceDiffParams, 'exec_id' | 'session_id'>;

async function targetOf(client: Client, args: Args, named: string | null): Promise<Target> {
  if (named !== null) return { exec_id: await findExec(client, named) };
  const word = args.text('session');
  if (word !== undefined) return { session_id: (await findSession(client, word)).id };
  return { exec_id: await newestExecHere(client) };
}

/** For a terminal: coloured, and nothing in it can steer it. Elsewhere as it is. */
export function diffLines(text: string): string[] {
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
    .map((part) => visible(part))
    .join('\t');
  const style = styles.find(([start]) => line.startsWith(start));
  return style === undefined ? text : styleText(style[1], text, { stream: process.stdout });
}
