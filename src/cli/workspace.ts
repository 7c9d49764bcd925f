/** `trl workspace …`: what of a session's changes waits, and what becomes of it. */
import path from 'node:path';
import { workspaceModes } from '../change.ts';
import type {
  ChangeView,
  Client,
  SessionId,
  WorkspaceApplyAnswer,
  WorkspaceApplyParams,
  WorkspacePolicy,
  WorkspaceStatus,
} from '../client/index.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { changeLines } from './change-lines.ts';
import { Interrupts, cancellable, readPassphraseFromStdin, withPersonProof } from './interrupts.ts';
import {
  escapeHiddenText,
  printAnswer,
  printJson,
  printLines,
  printMessage,
  printRows,
  printTable,
} from './print.ts';
import {
  connectRuntime,
  findSessionForDirectory,
  toWirePaths,
  trustProjectOf,
} from './runtime-connection.ts';
import { Progress } from './standard-output.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

export async function runWorkspaceOpen(args: CliArguments): Promise<number> {
  const [dir = '.', unwanted] = args.words;
  if (unwanted !== undefined) throw usageError('workspace open', 'it takes one directory at most');
  const mode = args.oneOf('workspace-mode', workspaceModes);
  const policy = policyOf(args);
  using progress = new Progress(true);
  progress.begin('looking through the workspace');
  await using client = await connectRuntime(args);
  await trustProjectOf(client, path.resolve(dir));
  const answer = await client.call('workspace.open', {
    path: path.resolve(dir),
    ...(policy === null ? {} : { policy }),
    ...(mode === undefined ? {} : { mode }),
  });
  progress.end();
  return printAnswer(args, answer, () => printLines([answer.workspace_id]));
}

/** Patterns stay as they are: relative ones are relative to the workspace. */
function policyOf(args: CliArguments): WorkspacePolicy | null {
  const [allow, deny, keep] = [
    args.all('allow-read'),
    args.all('deny-read'),
    args.all('deny-write'),
  ];
  if (allow.length + deny.length + keep.length === 0) return null;
  return { read: { allow, deny }, write: { deny: keep } };
}

export async function runWorkspaceStatus(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const session = await findSessionForDirectory(client, args);
  const answer = await client.call('workspace.status', { session_id: session.id });
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  printTable(['FIELD', 'VALUE'], fieldsOf(answer));
  for (const [title, changes, total] of [
    ['Staged (publish: trl workspace apply):', answer.staged, answer.totals.staged],
    ['Held (to apply: trl workspace apply --held):', answer.held, answer.totals.held],
    ['In conflict, theirs stands:', answer.conflicts, answer.totals.conflicts],
  ] as const) {
    if (total === 0) continue;
    process.stdout.write(`\n${title}\n${changeLines(changes, total).join('\n')}\n`);
  }
  return 0;
}

function fieldsOf(answer: WorkspaceStatus): string[][] {
  const { store, denied, unrecorded } = answer;
  const dropped = store.dropped === 0 ? '' : `, ${store.dropped} given up`;
  return [
    ['session', answer.session_id],
    ['workspace', escapeHiddenText(answer.path)],
    ['mode', answer.mode],
    ['known by', answer.method],
    ['git', answer.git],
    ['hidden paths', denied === null ? 'not counted yet' : String(denied)],
    [
      'kept',
      `${store.records} commands, ${store.contents} contents, ${store.bytes} of ` +
        `${store.bytes_max} bytes${dropped}`,
    ],
    [
      'not recorded',
      unrecorded.length === 0 ? '-' : unrecorded.map((one) => escapeHiddenText(one)).join(' '),
    ],
  ];
}

/** Exit code 0 when all that was meant is in the real tree, else 1. */
export async function runWorkspaceApply(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  await using client = await connectRuntime(args, { signal });
  const session = await findSessionForDirectory(client, args);
  const params = { session_id: session.id, ...toWirePaths(args.words) };
  return await cancellable(interrupts, 'nothing was applied', async () => {
    const answer = args.has('held')
      ? await applyHeld(client, args, { params, signal })
      : await client.call('workspace.apply', params);
    if (answer === null) {
      printMessage('nothing is held');
      return 0;
    }
    return applied(args, answer);
  });
}

interface PromptOptions {
  readonly params: WorkspaceApplyParams;
  readonly signal: AbortSignal;
}

/** Shows a person what is held, and asks who they are; `null`: nothing is held. */
async function applyHeld(
  client: Client,
  args: CliArguments,
  { params, signal }: PromptOptions,
): Promise<WorkspaceApplyAnswer | null> {
  const {
    held,
    held_digest: digest,
    totals,
  } = await client.call('workspace.status', {
    session_id: params.session_id,
  });
  if (digest === null) return null;
  // Only what was shown is applied: the runtime refuses another digest.
  const seen = { ...params, held: true, digest };
  if (args.has('passphrase-stdin')) {
    const passphrase = await readPassphraseFromStdin('workspace apply');
    return client.call('workspace.apply', { ...seen, passphrase });
  }
  const shown = await textOfHeld(client, params.session_id, held);
  const { enrolled } = await client.approvalStatus();
  {
    using terminal = ControllingTerminal.open('ask without --passphrase-stdin');
    const lines = changeLines(held, totals.held);
    terminal.write(`Held back from the real tree:\n${lines.join('\n')}\n\n${shown}\n\n`);
    if (!enrolled) {
      const said = await terminal.line('Apply it? Nobody is enrolled. Type yes: ', signal);
      if (said.trim() !== 'yes') throw new PromptCancelledError();
    }
  }
  return withPersonProof(client, signal, (proof) =>
    client.call('workspace.apply', { ...seen, ...proof }),
  );
}

async function textOfHeld(
  client: Client,
  id: SessionId,
  held: readonly ChangeView[],
): Promise<string> {
  const odd = held.flatMap(({ path_base64: bytes }) => (bytes === undefined ? [] : [bytes]));
  const plain = held.flatMap((one) => (one.path_base64 === undefined ? [one.path] : []));
  const { diff } = await client.call('workspace.diff', {
    session_id: id,
    paths: plain,
    paths_base64: odd,
  });
  // The terminal is not standard output here, so nothing is coloured: every line is made visible.
  const lines = diff.replace(/\n$/, '').split('\n');
  return lines
    .map((line) =>
      line
        .split('\t')
        .map((part) => escapeHiddenText(part))
        .join('\t'),
    )
    .join('\n');
}

function applied(args: CliArguments, answer: WorkspaceApplyAnswer): number {
  const { totals } = answer;
  // What is held was meant only where it was asked for.
  const code = totals.conflicts > 0 || (args.has('held') && totals.held > 0) ? 1 : 0;
  if (args.has('json')) {
    printJson(answer);
    return code;
  }
  const lines = changeLines(answer.applied, totals.applied);
  printLines(lines);
  printMessage(`${totals.applied === 1 ? '1 path' : `${totals.applied} paths`} applied`);
  if (totals.conflicts > 0) {
    printMessage('changed by somebody else meanwhile, so theirs stands:');
    for (const line of changeLines(answer.conflicts, totals.conflicts)) {
      process.stderr.write(`${line}\n`);
    }
  }
  if (totals.held > 0) printMessage(`${totals.held} held; to apply: trl workspace apply --held`);
  return code;
}

export async function runWorkspaceDiscard(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const session = await findSessionForDirectory(client, args);
  const params = { session_id: session.id, ...toWirePaths(args.words) };
  const answer = await client.call('workspace.discard', params);
  if (args.has('json')) {
    printJson(answer);
    return 0;
  }
  const lines = changeLines(answer.discarded, answer.totals.discarded);
  printLines(lines);
  printMessage(
    `${answer.totals.discarded === 1 ? '1 path' : `${answer.totals.discarded} paths`} discarded`,
  );
  return 0;
}

// `trl workspace list`, `trust` and `forget`: the directories in which sessions may work.

export async function runWorkspaceList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('workspace.list', {});
  const rows = answer.workspaces.map(
    ({ path: root, trusted_at: since, is_there: isThere, sessions }) => [
      escapeHiddenText(root),
      since ?? 'since the start',
      isThere ? String(sessions) : 'it is gone',
    ],
  );
  return printRows(args, answer, ['DIRECTORY', 'TRUSTED', 'SESSIONS'], rows);
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

// `trl cache list` and `clear`: what programs keep in HOME for later commands, by project.

export async function runCacheList(args: CliArguments): Promise<number> {
  await using client = await connectRuntime(args);
  const answer = await client.call('cache.list', {});
  const rows = answer.caches.map((one) => [
    escapeHiddenText(one.path),
    `${Math.ceil(one.bytes / 1024 / 1024)} MiB`,
    one.used_at,
  ]);
  return printRows(args, answer, ['PROJECT', 'SIZE', 'LAST USED'], rows);
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
