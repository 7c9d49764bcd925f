/** `trl publish check|run`: what must not leave does not, and a person decides what nobody can. */
import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type {
  Client,
  FindingView,
  PublishCheckParams,
  PublishParams,
  PublishVerdict,
} from '../client/index.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { fieldOf } from '../json-shape.ts';
import { checkTarget, takePublication } from '../local/index.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { Interrupts, cancellable, readPassphraseFromStdin, withPersonProof } from './interrupts.ts';
import { escapeHiddenText, printJson, printLines, printMessage } from './print.ts';
import { parsePublishTarget, withPublishRuntime } from './publish-target.ts';
import { Progress } from './standard-output.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';

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
    return printVerdict(args, verdict);
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
          if (verdict.decision !== 'pass') return printVerdict(args, verdict);
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
    return printVerdict(args, verdict);
  }
}

/** Commits leave by a push. */
function leaving({ kind, ...rest }: PublishCheckParams): PublishParams {
  if (kind !== 'git' && kind !== 'staged') return { ...rest, kind };
  throw usageError('publish run', 'commits leave by "git push"; see: trl publish hook --install');
}

interface PromptOptions {
  readonly params: PublishCheckParams;
  readonly signal: AbortSignal;
}

/** The verdict, after a person's approval if one is needed and given. */
async function decided(
  client: Client,
  args: CliArguments,
  { params, signal }: PromptOptions,
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
    // A caller without a terminal does not count as a person.
    using terminal = ControllingTerminal.open('show what was found');
    terminal.discard();
  }
  const verdict = args.has('evidence') ? await prove({ evidence: true }) : await ask({});
  if (!isAsking || verdict.decision !== 'review') return verdict;
  if (proof === null) await askYes(client, verdict, signal);
  return prove({ accept: verdict.digest });
}

/** Shows a person the findings. If a person is enrolled, the passphrase approves them. */
async function askYes(client: Client, verdict: PublishVerdict, signal: AbortSignal): Promise<void> {
  const { enrolled } = await client.approvalStatus();
  using terminal = ControllingTerminal.open('ask without --passphrase-stdin');
  terminal.write(`${publishFindingLines(verdict).join('\n')}\n\n`);
  if (enrolled) return;
  const said = await terminal.line('Let it leave? Nobody is enrolled. Type yes: ', signal);
  if (said.trim() !== 'yes') throw new PromptCancelledError();
}

function printVerdict(args: CliArguments, verdict: PublishVerdict): number {
  const code = verdict.decision === 'pass' ? 0 : exitBlocked;
  if (args.has('json')) {
    printJson(verdict);
    return code;
  }
  const lines = publishFindingLines(verdict);
  printLines(lines);
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
  return await cancellable(interrupts, 'nothing was approved', async () => {
    return await act(signal);
  });
}

// A verdict of the publication gate, as lines for a person.

/** What to do about a finding, by its rule. */
const advice: ReadonlyMap<string, string> = new Map([
  ['secret.known', 'take the secret out, and change it where it was seen'],
  ['secret.likely', 'take it out if it is a secret'],
  ['canary', 'take it out: it was planted in what nobody should read'],
  ['denied.path', 'leave the file out'],
  ['denied.name', 'name something else'],
  ['denied.content', 'take the passage out'],
  ['denied.file', 'leave the file out: it is a copy of one that is denied'],
  ['unscannable', 'look at it yourself: nobody else can look into it'],
  ['interference', 'run the command again where it cannot read what is denied'],
]);

const words = { pass: 'passed', review: 'needs a review', block: 'blocked' } as const;
const order = { pass: 'pass', review: 'review', block: 'block ' } as const;

/** `block  denied.content  src/a.ts  t-…`, and below it what to do. */
function publishFindingLines({ findings }: PublishVerdict): string[] {
  const told = new Set<string>();
  return findings.flatMap((finding) => {
    const { rule, decision, item, trace } = finding;
    const where = item === null ? '(a name that is denied)' : escapeHiddenText(item);
    const line = `${order[decision].padEnd(6)}  ${rule.padEnd(14)}  ${where}  ${trace}`;
    const help = told.has(rule) || decision === 'pass' ? undefined : advice.get(rule);
    told.add(rule);
    return [line, ...evidenceLines(finding), ...(help === undefined ? [] : [`        ${help}`])];
  });
}

function evidenceLines({ evidence }: FindingView): string[] {
  if (evidence === undefined) return [];
  const { source, lines, via, text, score } = evidence;
  const from = lines === null ? '' : `, lines ${lines[0]} to ${lines[1]}`;
  const decoded = via.length === 0 ? '' : `, in ${via.join(' in ')}`;
  const novel = score === null ? '' : `, ${score} characters`;
  const first = `        of ${escapeHiddenText(source)}${from}${decoded}${novel}`;
  return [first, ...(text === null ? [] : [`        │ ${escapeHiddenText(text)}`])];
}

/** One sentence about all of it. */
function publishSummary({ decision, audience, items, findings, basis }: PublishVerdict): string {
  const count = (all: number, what: string): string => `${all} ${what}${all === 1 ? '' : 's'}`;
  const found = findings.filter((one) => one.decision !== 'pass').length;
  const known = basis === 'non-interference' ? '; who made it could read nothing denied' : '';
  const more = found === 0 ? '' : `, ${count(found, 'finding')}`;
  return `${words[decision]} for "${audience}": ${count(items, 'item')} looked at${more}${known}`;
}

/** How it can be approved; `null`: it needs no approval. */
function publishRemedy({ decision }: PublishVerdict): string | null {
  switch (decision) {
    case 'pass':
      return null;
    case 'review':
      return (
        'a person can approve it: repeat the command with --accept; ' +
        '--evidence says what was found'
      );
    case 'block':
      return (
        'nobody can approve it as it is; --evidence says what was found, and ' +
        '"trl audit log --kind publication.blocked --json" too'
      );
  }
}

// `trl publish hook`: a pre-push hook of git that asks the gate first.

/** By it a hook of ours is known. */
const mark = '# trl publish hook';
const audienceForm = /^[\w.@-]+$/;

export async function runPublishHook(args: CliArguments): Promise<number> {
  const script = scriptFor(args.text('audience'));
  if (!args.has('install')) {
    process.stdout.write(script);
    return 0;
  }
  const file = hookFile();
  const before = lstatSync(file, { throwIfNoEntry: false });
  const isOurs = before?.isFile() === true && readFileSync(file, 'utf8').includes(`\n${mark}\n`);
  if (before !== undefined && !isOurs) {
    const message = `Cannot install the hook: "${file}" is there already`;
    throw new TrlError('INVALID_PARAMS', `${message}; add to it what "trl publish hook" prints`);
  }
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(`${file}.new`, script, { mode: 0o755 });
  chmodSync(`${file}.new`, 0o755);
  renameSync(`${file}.new`, file);
  printMessage(
    `installed ${file}; "git push --no-verify" goes round it, a check in CI does not let it`,
  );
  return 0;
}

/** What cannot be checked is not pushed. */
function scriptFor(audience: string | undefined): string {
  if (audience !== undefined && !audienceForm.test(audience)) {
    throw usageError(
      'publish hook',
      `an audience has letters, digits and ".@-_", got "${audience}"`,
    );
  }
  const forWhom = audience === undefined ? '' : ` --audience ${audience}`;
  return [
    '#!/bin/sh',
    mark,
    '# Checks every commit before it leaves, also one that a later commit reverts.',
    'command -v trl >/dev/null 2>&1 || {',
    '  echo "pre-push: trl is not in PATH, so nothing can be checked" >&2',
    '  exit 1',
    '}',
    `exec trl publish check --git - --remote "$1"${forWhom}`,
    '',
  ].join('\n');
}

/** Where git looks for it: of the repository, of linked worktrees, or `core.hooksPath`. */
function hookFile(): string {
  try {
    const found = execFileSync('git', ['rev-parse', '--git-path', 'hooks/pre-push'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return path.resolve(found.replace(/\n$/, ''));
  } catch (cause) {
    const message = `Cannot install the hook: "${process.cwd()}" lies in no git repository`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
