/** `trl cache list` and `clear`: what programs keep in HOME for later commands, by project. */
import path from 'node:path';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { connectRuntime } from './runtime-connection.ts';
import { printMessage, printJson, printTable } from './print.ts';
import { escapeHiddenText } from './escape-text.ts';

export async function runCacheList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('cache.list', {});
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const rows = answer.caches.map((one) => [
    escapeHiddenText(one.path),
    `${Math.ceil(one.bytes / 1024 / 1024)} MiB`,
    one.used_at,
  ]);
  printTable(['PROJECT', 'SIZE', 'LAST USED'], rows);
  return 0;
}

export async function runCacheClear(args: CliArguments): Promise<number> {
  const [directory = '.', unwanted] = args.words;
  const isAll = args.has('all');
  if (unwanted !== undefined || (isAll && args.words.length > 0)) {
    throw usageError('cache clear', 'it takes one directory, or --all');
  }
  await using client = await connectRuntime(args);
  const meant = isAll ? {} : { path: path.resolve(directory) };
  const answer = await client.call('cache.clear', meant);
  const { cleared, left, why = '' } = answer;
  if (args.has('json')) printJson(answer);
  else printMessage(cleared === 0 ? 'there was nothing' : `cleared ${cleared}`);
  if (left === 0) return 0;
  if (!args.has('json')) printMessage(`${left} entries could not be removed: ${why}`);
  return 1;
}
