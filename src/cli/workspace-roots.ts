/** `trl workspace list`, `trust` and `forget`: the directories in which sessions may work. */
import path from 'node:path';
import type { Args } from './args.ts';
import { usage } from './args.ts';
import { reach } from './reach.ts';
import { say, sayJson, sayTable } from './show.ts';
import { visible } from './visible.ts';

export async function list(args: Args): Promise<number> {
  await using client = await reach(args);
  const answer = await client.call('workspace.list', {});
  if (args.has('json')) {
    sayJson(answer);
    return 0;
  }
  const rows = answer.workspaces.map(
    ({ path: root, trusted_at: since, is_there: isThere, sessions }) => [
      visible(root),
      since ?? 'since the start',
      isThere ? String(sessions) : 'it is gone',
    ],
  );
  sayTable(['DIRECTORY', 'TRUSTED', 'SESSIONS'], rows);
  return 0;
}

export async function trust(args: Args): Promise<number> {
  const directory = directoryIn(args, 'workspace trust');
  await using client = await reach(args);
  const answer = await client.call('workspace.trust', { path: directory });
  if (args.has('json')) sayJson(answer);
  else {
    const how = answer.is_new ? 'from now on' : 'already';
    say(`sessions may work in ${visible(answer.path)} ${how}`);
  }
  return 0;
}

/** Exit code 1 where nobody trusted it. */
export async function forget(args: Args): Promise<number> {
  const directory = directoryIn(args, 'workspace forget');
  await using client = await reach(args);
  const answer = await client.call('workspace.forget', { path: directory });
  if (args.has('json')) sayJson(answer);
  else if (answer.forgotten) say('no session starts there any more');
  else say('it is no project that was trusted; see: trl workspace list');
  return answer.forgotten ? 0 : 1;
}

function directoryIn(args: Args, verb: string): string {
  const [directory = '.', unwanted] = args.words;
  if (unwanted !== undefined) throw usage(verb, 'it takes one directory at most');
  return path.resolve(directory);
}
