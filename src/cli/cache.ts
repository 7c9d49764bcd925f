/** `trl cache list` and `clear`: what programs keep in HOME for later commands, by project. */
import path from 'node:path';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { reach } from './reach.ts';
import { say, sayJson, sayTable } from './show.ts';
import { visible } from './visible.ts';

export async function list(args: Args): Promise<number> {
  await using client = await reach(args);
  const answer = await client.call('cache.list', {});
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const rows = answer.caches.map((one) => [
    visible(one.path),
    `${Math.ceil(one.bytes / 1024 / 1024)} MiB`,
    one.used_at,
  ]);
  sayTable(['PROJECT', 'SIZE', 'LAST USED'], rows);
  return 0;
}

export async function clear(args: Args): Promise<number> {
  const [directory = '.', unwanted] = args.words;
  const isAll = args.has('all');
  if (unwanted !== undefined || (isAll && args.words.length > 0)) {
    throw usage('cache clear', 'it takes one directory, or --all');
  }
  await using client = await reach(args);
  const meant = isAll ? {} : { path: path.resolve(directory) };
  const answer = await client.call('cache.clear', meant);
  const { cleared, left, why = '' } = answer;
  if (args.has('json')) sayJson(answer);
  else say(cleared === 0 ? 'there was nothing' : `cleared ${cleared}`);
  if (left === 0) return 0;
  if (!args.has('json')) say(`${left} entries could not be removed: ${why}`);
  return 1;
}
