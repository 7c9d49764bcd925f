/** `trl workspace list`, `trust` and `forget`: the directories in which sessions may work. */
import path from 'node:path';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { connectRuntime } from './runtime-connection.ts';
import { printMessage, printJson, printTable } from './print.ts';
import { escapeHiddenText } from './escape-text.ts';

export async function runWorkspaceList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('workspace.list', {});
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const rows = answer.workspaces.map(
    ({ path: root, trusted_at: since, is_there: isThere, sessions }) => [
      escapeHiddenText(root),
      since ?? 'since the start',
      isThere ? String(sessions) : 'it is gone',
    ],
  );
  printTable(['DIRECTORY', 'TRUSTED', 'SESSIONS'], rows);
  return 0;
}

export async function runWorkspaceTrust(args: CliArguments): Promise<number> {
  const directory = directoryIn(args, 'workspace trust');
  await using client = await connectRuntime(args);
  const answer = await client.call('workspace.trust', { path: directory });
  if (args.has('json')) printJson(answer);
  else {
    const how = answer.is_new ? 'from now on' : 'already';
    printMessage(`sessions may work in ${escapeHiddenText(answer.path)} ${how}`);
  }
  return 0;
}

/** Exit code 1 where nobody trusted it. */
export async function runWorkspaceForget(args: CliArguments): Promise<number> {
  const directory = directoryIn(args, 'workspace forget');
  await using client = await connectRuntime(args);
  const answer = await client.call('workspace.forget', { path: directory });
  if (args.has('json')) printJson(answer);
  else if (answer.forgotten) printMessage('no session starts there any more');
  else printMessage('it is no project that was trusted; see: trl workspace list');
  return answer.forgotten ? 0 : 1;
}

function directoryIn(args: CliArguments, verb: string): string {
  const [directory = '.', unwanted] = args.words;
  if (unwanted !== undefined) throw usageError(verb, 'it takes one directory at most');
  return path.resolve(directory);
}
