/** What the demo does, one thing after the other, and how it looks whether that is true. */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Client, Receipt } from '../client/index.ts';
import { readPublicKey } from '../audit/audit-key.ts';
import { verifyLogs } from '../audit/verify.ts';
import { isTrlError } from '../errors.ts';
import { approvalReference } from './approval-text.ts';
import { extractHeads } from './audit-heads.ts';
import { auditDirectory } from './audit-paths.ts';
import type { DemoPrinter } from './demo-printer.ts';
import { PromptCancelledError, ControllingTerminal } from './terminal.ts';
import { escapeHiddenText } from './escape-text.ts';

/** Where the demo is played. */
export interface DemoContext {
  readonly client: Client;
  /** The workspace, absolute. */
  readonly work: string;
  /** Where the runtime keeps its records. */
  readonly state: string;
  readonly paper: DemoPrinter;
  readonly signal: AbortSignal;
  /** Of the commands so far. */
  readonly receipts: Receipt[];
}

/** What was seen of one act. */
export interface DemoStepResult {
  readonly title: string;
  /** Whether the check found what was meant to happen. */
  readonly ok: boolean;
  readonly command: string | null;
  readonly found: string;
}

interface Act {
  readonly title: string;
  readonly play: (stage: DemoContext) => Promise<Omit<DemoStepResult, 'title'>>;
}

const answerMs = 20_000;

export const demoSteps: readonly Act[] = [
  { title: 'A command runs, in a sandbox of its own', play: allowed },
  { title: 'It has no network', play: withoutNetwork },
  { title: 'A secret does not come out', play: redacted },
  { title: 'What deletes is asked first', play: asked },
  { title: 'Everything is on record', play: recorded },
];

async function allowed(stage: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { work } = stage;
  for (const fruit of ['pear', 'apple', 'quince']) writeFileSync(path.join(work, fruit), '');
  const command = 'ls; echo "as $(id -un), beside $(ls /proc | grep -c ^[0-9]) processes"';
  const receipt = await show(stage, command);
  const { kind, level } = receipt.sandbox;
  const ok = receipt.exit_code === 0 && kind !== 'none' && receipt.stdout.startsWith('apple\n');
  return { ok, command, found: `exit ${receipt.exit_code}, sandbox ${kind}, level ${level}` };
}

async function withoutNetwork(stage: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const command = 'exec 3<>/dev/tcp/1.1.1.1/443 && echo connected';
  const receipt = await show(stage, command);
  const { network } = receipt.sandbox;
  const ok = receipt.exit_code !== 0 && network === 'off' && receipt.stdout === '';
  return { ok, command, found: `the connection failed: network ${network} in the sandbox` };
}

async function redacted(stage: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { work, state } = stage;
  const letters = randomBytes(64)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '');
  const token = `ghp_${letters.slice(0, 36)}`;
  writeFileSync(path.join(work, 'notes.txt'), `deploy with ${token}\n`);
  const command = 'cat notes.txt';
  const receipt = await show(stage, command);
  const { count } = receipt.redactions ?? { count: 0 };
  const leaks = [receipt.stdout, receipt.stderr, ...filesBelow(state)].some((text) =>
    text.includes(token),
  );
  const found = leaks
    ? 'the token came out'
    : `${count} value hidden; it is in no output and in no log`;
  return { ok: !leaks && count > 0, command, found };
}

async function asked(stage: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { client, work, paper, signal } = stage;
  const target = path.join(work, 'archive');
  mkdirSync(target);
  writeFileSync(path.join(target, 'report.txt'), 'kept\n');
  const command = 'rm -r archive';
  paper.command(command);
  await using session = await client.createSession({ working_dir: work, policy: 'guarded' });
  try {
    await session.run(command, { signal });
    return { ok: false, command, found: 'nobody was asked' };
  } catch (error) {
    if (!isTrlError(error, 'APPROVAL_REQUIRED')) throw error;
  }
  const [view] = await client.approvals({ state: 'pending' });
  if (view === undefined) return { ok: false, command, found: 'there is no question' };
  for (const { decision, reason } of view.verdict.rules) {
    if (decision === 'ask') paper.aside(`waits for you: it ${escapeHiddenText(reason)}`);
  }
  const yes = await answer(stage);
  await client.decide({ ...approvalReference(view), decision: yes ? 'approve' : 'deny' });
  if (!yes) {
    const ok = existsSync(target);
    return { ok, command, found: `denied; archive/ is ${ok ? 'still there' : 'gone'}` };
  }
  const end = await client.attach(view.exec_id).collect();
  const ok = end.exit_code === 0 && !existsSync(target);
  return { ok, command, found: `approved, run once, exit ${end.exit_code}; archive/ is gone` };
}

/** Whether the person at the terminal says yes in time. Where nobody is, the answer is no. */
async function answer({ paper, signal }: DemoContext): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    paper.aside('nobody is at a terminal here, so the answer is no');
    return false;
  }
  const patience = AbortSignal.any([signal, AbortSignal.timeout(answerMs)]);
  using terminal = ControllingTerminal.open('ask');
  try {
    const question = `     Run it? Type yes (else no, after ${answerMs / 1_000} s): `;
    return (await terminal.line(question, patience)).trim() === 'yes';
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof PromptCancelledError) && !patience.aborted) throw error;
    terminal.write('\n');
    return false;
  }
}

async function recorded({
  state,
  paper,
  receipts,
}: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const command = 'trl audit verify';
  paper.command(command);
  const directory = auditDirectory();
  const publicKey = readPublicKey(path.join(directory, 'key.pub'));
  // Each receipt has a signed head: what it says of the log must still be so.
  const heads = [...new Set(receipts.flatMap((receipt) => extractHeads(JSON.stringify(receipt))))];
  const { isGood, logs } = await verifyLogs({ directory, publicKey, heads });
  const events = logs.reduce((sum, log) => sum + log.events, 0);
  const text = filesBelow(state).join('\n');
  const isTold = ['exec.ended', 'approval.'].every((kind) => text.includes(kind));
  const against = `held against the heads of ${receipts.length} receipts`;
  const how = isGood ? 'as they were written' : 'NOT as they were written';
  const found = `${events} events, ${how}, ${against}`;
  return { ok: isGood && isTold && heads.length > 0, command, found };
}

async function show(stage: DemoContext, command: string): Promise<Receipt> {
  const { client, work, paper, receipts } = stage;
  paper.command(command);
  await using session = await client.createSession({ working_dir: work, shell: 'bash' });
  const receipt = await session.run(command);
  receipts.push(receipt);
  paper.output(receipt.stdout + receipt.stderr);
  return receipt;
}

/** The texts of all files below a directory. */
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'latin1'));
