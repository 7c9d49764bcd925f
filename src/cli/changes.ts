/** `trl diff`: what a command, or all commands of a session, changed. */
import { styleText } from 'node:util';
import type {
  Client,
  RestoreAnswer,
  SnapshotGetParams,
  SnapshotRecord,
  SnapshotView,
  WorkspaceDiffParams,
} from '../client/index.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { changeLines, statLines } from './change-lines.ts';
import {
  escapeHiddenText,
  printJson,
  printLines,
  printMessage,
  printRows,
  printTable,
} from './print.ts';
import {
  connectRecords,
  findExecByWord,
  findNewestExec,
  findSessionByWord,
  parseExecId,
  toWirePaths,
} from './runtime-connection.ts';
import { requireSingleWord } from './session.ts';
import { Progress } from './standard-output.ts';
import { countFlagHint, parseCount } from './units.ts';

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
    ...(await diffTargetOf(client, args, isNamed ? first : null)),
    ...toWirePaths(isNamed ? args.words.slice(1) : args.words),
    ...(context === undefined ? {} : { context }),
  });
  progress.end();
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const lines = args.has('stat') ? statLines(answer.files) : formatDiffLines(answer.diff);
  if (answer.files.length > 0) printLines(lines);
  if (answer.truncated) printMessage('some of it is too large to show; name paths to see less');
  return 0;
}

type DiffTarget = Pick<WorkspaceDiffParams, 'exec_id' | 'session_id'>;

async function diffTargetOf(
  client: Client,
  args: CliArguments,
  named: string | null,
): Promise<DiffTarget> {
  if (named !== null) return { exec_id: await findExecByWord(client, named) };
  const word = args.text('session');
  if (word !== undefined) return { session_id: (await findSessionByWord(client, word)).id };
  return { exec_id: await findNewestExec(client) };
}

/** For a terminal: coloured, and nothing in it can steer it. Elsewhere as it is. */
function formatDiffLines(text: string): string[] {
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

// `trl undo` and `trl snapshot …`: what was recorded of commands, and the way back.

/** Exit code 0 when every path was restored, 1 after a conflict or if there was nothing to undo. */
export async function runUndo(args: CliArguments): Promise<number> {
  const [word, ...words] = args.words;
  if (word === undefined) throw usageError('undo', 'which command? see: trl snapshot list');
  const named = parseExecId(word);
  using progress = new Progress(true);
  progress.begin('undoing');
  await using client = await connectRecords(args);
  const execId = await findExecByWord(client, named);
  const params = { exec_id: execId, dry_run: args.has('dry-run'), ...toWirePaths(words) };
  const answer = await client.call('exec.undo', params);
  progress.end();
  const code = reportRestored(args, answer, 'undo');
  return typeof answer.nothing === 'string' ? 1 : code;
}

export async function runSnapshotRestore(args: CliArguments): Promise<number> {
  const [word, ...words] = args.words;
  if (word === undefined) throw usageError('snapshot restore', 'which one? see: trl snapshot list');
  using progress = new Progress(true);
  progress.begin('restoring');
  await using client = await connectRecords(args);
  const params = {
    ...(await targetOf(client, word)),
    dry_run: args.has('dry-run'),
    ...toWirePaths(words),
  };
  const answer = await client.call('snapshot.restore', params);
  progress.end();
  return reportRestored(args, answer, 'restore');
}

function reportRestored(args: CliArguments, answer: RestoreAnswer, verb: string): number {
  const { restored, conflicts, impossible, totals, dry_run: isDry } = answer;
  const code = totals.conflicts + totals.impossible > 0 ? 1 : 0;
  if (args.has('json')) {
    printJson(answer);
    return code;
  }
  if (typeof answer.nothing === 'string') {
    printMessage(`nothing to ${verb}: ${answer.nothing}`);
    return code;
  }
  const count = (total: number): string => (total === 1 ? '1 path' : `${total} paths`);
  const lines = changeLines(restored, totals.restored);
  printLines(lines);
  printMessage(`${count(totals.restored)} ${isDry ? 'would be restored' : 'restored'}`);
  for (const [changes, total, why] of [
    [conflicts, totals.conflicts, 'changed by somebody since, so theirs stands'],
    [impossible, totals.impossible, 'not possible, since the old content was not kept'],
  ] as const) {
    if (total === 0) continue;
    printMessage(`${count(total)} ${why}:`);
    for (const line of changeLines(changes, total)) process.stderr.write(`${line}\n`);
  }
  return code;
}

export async function runSnapshotList(args: CliArguments): Promise<number> {
  const [dir, unwanted] = args.words;
  if (unwanted !== undefined) throw usageError('snapshot list', 'it takes one directory at most');
  const limit = args.read('limit', parseCount, countFlagHint);
  await using client = await connectRecords(args);
  const word = args.text('session');
  const session = word === undefined ? null : await findSessionByWord(client, word);
  const [place] = toWirePaths([dir ?? '.']).paths ?? [];
  const answer = await client.call('snapshot.list', {
    ...(session === null ? {} : { session_id: session.id }),
    // Of a session: all, unless a directory is named as well.
    ...(place === undefined || (session !== null && dir === undefined) ? {} : { path: place }),
    ...(limit === undefined ? {} : { limit }),
  });
  const rows = answer.snapshots.map((one) => [
    one.exec_id,
    one.at,
    countsOf(one),
    one.undone ? 'undone' : one.mode,
    escapeHiddenText(one.command),
  ]);
  return printRows(args, answer, ['EXECUTION', 'ENDED', 'CHANGES', 'MODE', 'COMMAND'], rows);
}

/** `A2 M1`, and what waits or was refused. */
function countsOf({ counts, states }: SnapshotView): string {
  const kinds = [
    ['A', counts.added],
    ['M', counts.modified],
    ['D', counts.deleted],
    ['~', counts.mode + counts.type + counts.symlink + counts.special + counts['metadata-only']],
  ] as const;
  const parts = kinds.flatMap(([letter, count]) => (count === 0 ? [] : [`${letter}${count}`]));
  for (const state of ['staged', 'held', 'conflict'] as const) {
    if (states[state] > 0) parts.push(`${states[state]} ${state}`);
  }
  return parts.length === 0 ? '-' : parts.join(' ');
}

export async function runSnapshotShow(args: CliArguments): Promise<number> {
  const word = requireSingleWord(args, 'snapshot show');
  const [, exec, path] = /^(x-[0-9a-f…]*):(.+)$/s.exec(word) ?? [];
  if (exec !== undefined && path !== undefined) return showContent(args, exec, path);
  await using client = await connectRecords(args);
  const record = await client.call('snapshot.get', await targetOf(client, word));
  if (args.has('json')) {
    printJson(record);
    return 0;
  }
  printTable(['FIELD', 'VALUE'], fieldsOf(record));
  const lines = changeLines(record.changes, record.changes_total);
  if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
  return 0;
}

/** The content that a command left at a path, byte for byte but for secrets. */
async function showContent(args: CliArguments, exec: string, path: string): Promise<number> {
  await using client = await connectRecords(args);
  const execId = await findExecByWord(client, exec);
  const { content } = await client.call('snapshot.get', {
    exec_id: execId,
    content: path,
    limit: 1,
  });
  if (args.has('json')) printJson(content);
  else if (content?.base64 != null) process.stdout.write(Buffer.from(content.base64, 'base64'));
  else {
    const why = content === null ? 'it left no file there' : 'it is too large, or was not kept';
    printMessage(`no content of ${escapeHiddenText(path)}: ${why}`);
  }
  return content?.base64 == null ? 1 : 0;
}

const fieldsOf = (record: SnapshotRecord): string[][] => [
  ['command', escapeHiddenText(record.command)],
  ['execution', record.exec_id],
  ['session', record.session_id],
  ['workspace', escapeHiddenText(record.path)],
  ['ended', record.at],
  ['before', record.before],
  ['after', record.after],
  ['known by', record.method],
  ['mode', record.mode],
  ['undone', record.undone ? 'yes' : 'no'],
];

type Target = Pick<SnapshotGetParams, 'exec_id' | 'id'>;

async function targetOf(client: Client, word: string): Promise<Target> {
  return isTree(word) ? { id: word } : { exec_id: await findExecByWord(client, word) };
}

function isTree(word: string): word is NonNullable<Target['id']> {
  return /^tree:sha256:[0-9a-f]{64}$/.test(word);
}
