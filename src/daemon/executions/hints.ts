/** Hints from the end of what a failed command wrote. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Exit } from '../../command.ts';
import type { RunnerLink } from '../../process/runner-link.ts';
import type { ExecutionContext, ExecutionOutcome } from '../../execution.ts';
import type { Runners } from '../runners.ts';
import type { Masking } from '../secrets/masking.ts';
import { readJournalRange } from './read-output.ts';
import type { EndedExecution } from './receipt.ts';
import { changeHints, incompleteHint, createReceiptChanges } from '../workspaces/change-views.ts';

/** Bytes looked at, from the end. */
const tailBytes = 4 * 1024;

const notFound = /([A-Za-z0-9._+-]+): (?:command )?not found\s*$/m;
/** What resolvers and programs say: curl, git, node, python, go, cargo, wget. */
const noNetwork = new RegExp(
  [
    'Could not resolve host|unable to resolve host|failure in name resolution|ENOTFOUND|EAI_AGAIN',
    'ENETUNREACH|Network is unreachable|Name or service not known|getaddrinfo failed|dns error',
    'failed to lookup address|no such host|Failed to establish a new connection',
  ].join('|'),
  'i',
);

const otherDevice = /Invalid cross-device link|EXDEV/;
const otherNumber = /hardlink different from source/;

/** None for a success, outside a sandbox, and when the output is gone. */
async function hintsOf(link: RunnerLink, context: ExecutionContext, exit: Exit): Promise<string[]> {
  if (exit.exit_code === 0 || exit.stderr_bytes === 0 || context.box.kind === 'none') return [];
  const from = Math.max(0, exit.journal_bytes - tailBytes);
  const ask = { from, max: tailBytes, waitMs: 0 };
  const { pieces } = await readJournalRange(link, exit.exec_id, ask).catch(() => ({ pieces: [] }));
  const stderr = pieces.filter(({ stream }) => stream === 'stderr').map(({ bytes }) => bytes);
  const text = Buffer.concat(stderr).toString('utf8');
  const hints: string[] = [];
  const name = exit.exit_code === 127 ? notFound.exec(text)?.[1] : undefined;
  // A directory that commands do see is not the reason: their own PATH is.
  const shown = (context.env['PATH'] ?? '').split(':');
  const dirs = (process.env['PATH'] ?? '')
    .split(':')
    .filter((dir) => dir.startsWith('/') && !shown.includes(dir));
  const place = name === undefined ? undefined : dirs.find((dir) => existsSync(join(dir, name)));
  if (name !== undefined && place !== undefined) {
    hints.push(
      `${name} is in ${place}, which the sandbox does not show; allow reading it to use it`,
    );
  }
  if (otherDevice.test(text)) {
    hints.push(
      'A directory that was there before cannot be renamed in a workspace layer; copy and ' +
        'delete it: cp -a OLD NEW && rm -r OLD',
    );
  }
  if (otherNumber.test(text)) {
    hints.push(
      'Hard links of files that were there before are copies here: git clone --no-hardlinks',
    );
  }
  if (context.network === 'off' && noNetwork.test(text)) {
    hints.push(
      'The network is off in this sandbox; ask for the hosts that it needs: --net npm,example.com',
    );
  }
  return hints;
}

/** An outcome with the hints that its output and its changes suggest. */
export async function withHints(
  { runners, masking }: { readonly runners: Runners; readonly masking: Masking },
  context: ExecutionContext,
  outcome: Promise<ExecutionOutcome>,
): Promise<EndedExecution> {
  const { recorded, ...done } = await outcome;
  const hints = await hintsOf(await runners.link(), context, done.exit);
  if (recorded === null) return { ...done, hints };
  const { snapshot, mode, changes, complete } = recorded;
  const workspace = masking.deep(createReceiptChanges(snapshot, mode, changes));
  hints.push(...changeHints(changes, done.exit.session_id));
  if (!complete) hints.push(incompleteHint);
  return { ...done, hints, workspace };
}
