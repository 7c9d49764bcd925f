/** `trl publish check|run`: what must not leave does not, and a person decides what nobody can. */
import { fieldOf } from '../json-shape.ts';
import type { Client, PublishCheckParams, PublishParams, PublishVerdict } from '../client/index.ts';
import { checkTarget, takePublication } from '../local/index.ts';
import { isTrlError, type TrlError } from '../errors.ts';
import type { CliArguments } from './args.ts';
import { usageError } from './args.ts';
import { interruptedExitCode, Interrupts } from './interrupts.ts';
import { readPassphraseFromStdin } from './passphrase.ts';
import { Progress } from './progress.ts';
import { publishFindingLines, publishSummary, publishRemedy } from './publish-lines.ts';
import { withPublishRuntime, parsePublishTarget } from './publish-target.ts';
import { withPersonProof } from './passphrase.ts';
import { printMessage, printJson } from './print.ts';
import { PromptCancelledError, ControllingTerminal } from './terminal.ts';

/** What is not to leave as it is. */
const exitBlocked = 1;

/** Exit code 0 when it may leave, 1 when not, or when a person must look at it. */
export function runPublishCheck(args: CliArguments): Promise<number> {
  return withInterrupts(async (signal) => {
    const target = await parsePublishTarget(args, 'publish check');
    const verdict = await withPublishRuntime(
      args,
      async (at) => decided(at.client, args, { params: await target(at), signal }),
      signal,
    );
    return tell(args, verdict);
  });
}

/** Exit code 0 when all of it was written, 1 when it may not leave. */
export function runPublishRun(args: CliArguments): Promise<number> {
  return withInterrupts(async (signal) => {
    const to = args.text('to');
    if (to === undefined) throw usageError('publish run', 'where to? --to DIR or --to FILE.tar');
    checkTarget(to);
    const target = await parsePublishTarget(args, 'publish run');
    return withPublishRuntime(
      args,
      async (at) => {
        const { client } = at;
        const params = leaving(await target(at));
        if (args.has('accept') || args.has('evidence')) {
          const verdict = await decided(client, args, { params, signal });
          if (verdict.decision !== 'pass') return tell(args, verdict);
        }
        return published(client, args, { params, to });
      },
      signal,
    );
  });
}

async function published(
  client: Client,
  args: CliArguments,
  { params, to }: { readonly params: PublishParams; readonly to: string },
): Promise<number> {
  try {
    const answer = await client.call('publish', params);
    takePublication(answer, to);
    const { directory: _, ...told } = answer;
    if (args.has('json')) printJson({ ...told, to });
    else printMessage(`${publishSummary(answer)}; ${answer.files.length} written to ${to}`);
    return 0;
  } catch (error) {
    const verdict = isTrlError(error, 'PUBLICATION_BLOCKED') ? verdictIn(error) : null;
    if (verdict === null || args.has('json')) throw error;
    return tell(args, verdict);
  }
}

/** Commits leave by a push. */
function leaving({ kind, ...rest }: PublishCheckParams): PublishParams {
  if (kind !== 'git' && kind !== 'staged') return { ...rest, kind };
  throw usageError('publish run', 'commits leave by "git push"; see: trl publish hook --install');
}

interface Asking {
  readonly params: PublishCheckParams;
  readonly signal: AbortSignal;
}

/** With a person's yes where one is wanted and given. */
async function decided(
  client: Client,
  args: CliArguments,
  { params, signal }: Asking,
): Promise<PublishVerdict> {
  using progress = new Progress(!args.has('json'));
  const isAsking = args.has('accept');
  const proof = args.has('passphrase-stdin')
    ? { passphrase: await readPassphraseFromStdin('publish check') }
    : null;
  const ask = async (more: object): Promise<PublishVerdict> => {
    progress.begin('looking at what is to leave');
    const answer = await client.call('publish.check', { ...params, ...more });
    progress.end();
    return answer;
  };
  const prove = async (more: object): Promise<PublishVerdict> => {
    if (proof !== null) return ask({ ...more, ...proof });
    progress.end();
    return withPersonProof(client, signal, (own) => ask({ ...more, ...own }));
  };
  if (args.has('evidence') && proof === null) {
    // Whoever has no terminal is no person, as far as that can be told.
    using terminal = ControllingTerminal.open('show what was found');
    terminal.discard();
  }
  const verdict = args.has('evidence') ? await prove({ evidence: true }) : await ask({});
  if (!isAsking || verdict.decision !== 'review') return verdict;
  if (proof === null) await askYes(client, verdict, signal);
  return prove({ accept: verdict.digest });
}

/** Shows a person what was found; where one is enrolled, the passphrase is their yes. */
async function askYes(client: Client, verdict: PublishVerdict, signal: AbortSignal): Promise<void> {
  const { enrolled } = await client.approvalStatus();
  using terminal = ControllingTerminal.open('ask without --passphrase-stdin');
  terminal.write(`${publishFindingLines(verdict).join('\n')}\n\n`);
  if (enrolled) return;
  const said = await terminal.line('Let it leave? Nobody is enrolled. Type yes: ', signal);
  if (said.trim() !== 'yes') throw new PromptCancelledError();
}

function tell(args: CliArguments, verdict: PublishVerdict): number {
  const code = verdict.decision === 'pass' ? 0 : exitBlocked;
  if (args.has('json')) {
    printJson(verdict);
    return code;
  }
  const lines = publishFindingLines(verdict);
  if (lines.length > 0) process.stdout.write(`${lines.join('\n')}\n`);
  printMessage(publishSummary(verdict));
  const way = publishRemedy(verdict);
  if (way !== null) printMessage(way);
  return code;
}

/** The verdict that a refusal carries. */
function verdictIn({ data }: TrlError): PublishVerdict | null {
  return isVerdict(data) ? data : null;
}

function isVerdict(data: unknown): data is PublishVerdict {
  return Array.isArray(fieldOf(data, 'findings'));
}

async function withInterrupts(act: (signal: AbortSignal) => Promise<number>): Promise<number> {
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  try {
    return await act(signal);
  } catch (error) {
    if (!(error instanceof PromptCancelledError) && !signal.aborted) throw error;
    printMessage('nothing was let through');
    return interrupts.exitCode ?? interruptedExitCode;
  }
}
