/**
 * `trl demo`: the runtime in a few seconds, without configuration and without a trace. Everything
 * that is shown is a real run, in a runtime of the demo's own whose directories go with it; every
 * mark is a check of what happened.
 */
import { randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { styleText } from 'node:util';
import { readPublicKey } from '../audit/audit-key.ts';
import { verifyLogs } from '../audit/verify.ts';
import { clientOver } from '../client/index.ts';
import type { Client, Receipt } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import { spawnDaemon } from '../local/index.ts';
import { approvalReference } from './approval-text.ts';
import type { CliArguments } from './args.ts';
import { auditDirectory } from './audit-read.ts';
import { extractHeads } from './audit-verify.ts';
import { Interrupts } from './interrupts.ts';
import { mcpInstallLine } from './own-program.ts';
import { escapeHiddenText, printJson, printLines } from './print.ts';
import { ControllingTerminal, PromptCancelledError } from './terminal.ts';
import { showDuration } from './units.ts';

/** Exit code 0 when everything was as it should be, else 1. */
export async function runDemo(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  const printer = new DemoPrinter(!args.has('json'));
  const begun = performance.now();
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-demo-')));
  try {
    const results = await perform(base, printer, interrupts.signal);
    const ok = results.every((one) => one.ok);
    const durationMs = Math.round(performance.now() - begun);
    const install = mcpInstallLine();
    if (args.has('json')) printJson({ ok, duration_ms: durationMs, acts: results, install });
    else printer.end(ok, durationMs, install);
    return ok ? 0 : 1;
  } catch (error) {
    if (interrupts.signal.aborted) return interrupts.exitCode ?? 130;
    throw error;
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

async function perform(
  base: string,
  printer: DemoPrinter,
  signal: AbortSignal,
): Promise<DemoStepResult[]> {
  const work = path.join(base, 'project');
  const state = path.join(base, 'state');
  for (const dir of [work, state]) mkdirSync(dir, { mode: 0o700 });
  // Its own daemon reads nothing of this user's and leaves nothing among what is.
  Object.assign(process.env, { XDG_STATE_HOME: state, XDG_CONFIG_HOME: path.join(base, 'config') });
  const own = Object.keys(process.env).filter((name) => name.startsWith('TRL_'));
  for (const name of own) delete process.env[name];
  const channel = await spawnDaemon({ workspaceRoots: [work], policy: 'auto' });
  await using client = await clientOver(channel, { ownsDaemon: true });
  const context = { client, work, state, printer, signal, receipts: [] };
  const results: DemoStepResult[] = [];
  for (const { title, play } of demoSteps) {
    signal.throwIfAborted();
    printer.title(results.length + 1, title);
    try {
      results.push({ title, ...(await play(context)) });
    } catch (error) {
      signal.throwIfAborted();
      const found = isTrlError(error) ? `${error.message} [${error.code}]` : String(error);
      results.push({ title, ok: false, command: null, found });
    }
    const last = results.at(-1);
    if (last !== undefined) printer.check(last.ok, last.found);
    // Without a sandbox the rest would say the same.
    if (results.length === 1 && last?.ok === false) {
      printer.advice('the reason, and what helps: trl doctor');
      break;
    }
  }
  return results;
}

// What the demo does, one thing after the other, and how it looks whether that is true.

/** Where the demo is played. */
interface DemoContext {
  readonly client: Client;
  /** The workspace, absolute. */
  readonly work: string;
  /** Where the runtime keeps its records. */
  readonly state: string;
  readonly printer: DemoPrinter;
  readonly signal: AbortSignal;
  /** Of the commands so far. */
  readonly receipts: Receipt[];
}

/** What was seen of one act. */
interface DemoStepResult {
  readonly title: string;
  /** Whether the check found what was meant to happen. */
  readonly ok: boolean;
  readonly command: string | null;
  readonly found: string;
}

interface DemoStep {
  readonly title: string;
  readonly play: (context: DemoContext) => Promise<Omit<DemoStepResult, 'title'>>;
}

const answerMs = 20_000;

const demoSteps: readonly DemoStep[] = [
  { title: 'A command runs, in a sandbox of its own', play: allowed },
  { title: 'It has no network', play: withoutNetwork },
  { title: 'A secret does not come out', play: redacted },
  { title: 'What deletes is asked first', play: asked },
  { title: 'Everything is on record', play: recorded },
];

async function allowed(context: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { work } = context;
  for (const fruit of ['pear', 'apple', 'quince']) writeFileSync(path.join(work, fruit), '');
  const command = 'ls; echo "as $(id -un), beside $(ls /proc | grep -c ^[0-9]) processes"';
  const receipt = await show(context, command);
  const { kind, level } = receipt.sandbox;
  const ok = receipt.exit_code === 0 && kind !== 'none' && receipt.stdout.startsWith('apple\n');
  return { ok, command, found: `exit ${receipt.exit_code}, sandbox ${kind}, level ${level}` };
}

async function withoutNetwork(context: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const command = 'exec 3<>/dev/tcp/1.1.1.1/443 && echo connected';
  const receipt = await show(context, command);
  const { network } = receipt.sandbox;
  const ok = receipt.exit_code !== 0 && network === 'off' && receipt.stdout === '';
  return { ok, command, found: `the connection failed: network ${network} in the sandbox` };
}

async function redacted(context: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { work, state } = context;
  const letters = randomBytes(64)
    .toString('base64')
    .replaceAll(/[^A-Za-z0-9]/g, '');
  const token = `ghp_${letters.slice(0, 36)}`;
  writeFileSync(path.join(work, 'notes.txt'), `deploy with ${token}\n`);
  const command = 'cat notes.txt';
  const receipt = await show(context, command);
  const { count } = receipt.redactions ?? { count: 0 };
  const leaks = [receipt.stdout, receipt.stderr, ...filesBelow(state)].some((text) =>
    text.includes(token),
  );
  const found = leaks
    ? 'the token came out'
    : `${count} value hidden; it is in no output and in no log`;
  return { ok: !leaks && count > 0, command, found };
}

async function asked(context: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const { client, work, printer, signal } = context;
  const target = path.join(work, 'archive');
  mkdirSync(target);
  writeFileSync(path.join(target, 'report.txt'), 'kept\n');
  const command = 'rm -r archive';
  printer.command(command);
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
    if (decision === 'ask') printer.aside(`waits for you: it ${escapeHiddenText(reason)}`);
  }
  const yes = await answer(context);
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
async function answer({ printer, signal }: DemoContext): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    printer.aside('nobody is at a terminal here, so the answer is no');
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
  printer,
  receipts,
}: DemoContext): Promise<Omit<DemoStepResult, 'title'>> {
  const command = 'trl audit verify';
  printer.command(command);
  const directory = auditDirectory();
  const publicKey = readPublicKey(path.join(directory, 'key.pub'));
  // Each receipt has a signed head: what it says of the log must still be so.
  const heads = [...new Set(receipts.flatMap((receipt) => extractHeads(JSON.stringify(receipt))))];
  const { isGood, logs } = await verifyLogs({ directory, publicKey, heads });
  const events = logs.reduce((sum, log) => sum + log.events, 0);
  const text = filesBelow(state).join('\n');
  const isTold = ['exec.ended', 'approval.'].every((kind) => text.includes(kind));
  const against = `checked against the heads of ${receipts.length} receipts`;
  const how = isGood ? 'as they were written' : 'NOT as they were written';
  const found = `${events} events, ${how}, ${against}`;
  return { ok: isGood && isTold && heads.length > 0, command, found };
}

async function show(context: DemoContext, command: string): Promise<Receipt> {
  const { client, work, printer, receipts } = context;
  printer.command(command);
  await using session = await client.createSession({ working_dir: work, shell: 'bash' });
  const receipt = await session.run(command);
  receipts.push(receipt);
  printer.output(receipt.stdout + receipt.stderr);
  return receipt;
}

/** The texts of all files below a directory. */
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'latin1'));

// How the demo looks: plain lines, a few of them dimmed or coloured where the terminal does.

const outputLinesMax = 6;
const columnsMax = 100;

class DemoPrinter {
  readonly #on: boolean;

  /** With `on` false nothing is shown. */
  constructor(on: boolean) {
    this.#on = on;
    this.#line('');
    this.#line(
      `  ${this.#style('bold', 'trl')} runs what an agent asks for, and says what happened.`,
    );
  }

  title(number: number, text: string): void {
    this.#line('');
    this.#line(`  ${this.#style('bold', `${number}  ${text}`)}`);
  }

  command(text: string): void {
    this.#line(`     ${this.#style('cyan', '$')} ${escapeHiddenText(text)}`);
  }

  /** What a command printed; what is left out is counted. */
  output(text: string): void {
    const lines = text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined);
    for (const line of lines.slice(0, outputLinesMax)) {
      const shown = Array.from(escapeHiddenText(line));
      const isLong = shown.length > columnsMax;
      const cut = isLong ? [...shown.slice(0, columnsMax - 1), '…'] : shown;
      this.#line(`     ${this.#style('dim', cut.join(''))}`);
    }
    const more = lines.length - outputLinesMax;
    if (more > 0) this.#line(`     ${this.#style('dim', `… ${more} lines more`)}`);
  }

  aside(text: string): void {
    this.#line(`     ${text}`);
  }

  check(ok: boolean, text: string): void {
    const mark = ok ? this.#style('green', '✓') : this.#style('red', '✗');
    this.#line(`     ${mark} ${escapeHiddenText(text)}`);
  }

  advice(text: string): void {
    this.#line('');
    this.#line(`  ${escapeHiddenText(text)}`);
  }

  end(ok: boolean, durationMs: number, install: string): void {
    const how = ok ? 'All of it was real' : 'Not all of it was as it should be';
    this.advice(`${how}; it took ${showDuration(durationMs)}, and its files are gone.`);
    if (ok) {
      this.#line('  Give it to your agent:');
      this.#line('');
      this.#line(`     ${this.#style('cyan', install)}`);
    }
    this.#line('');
  }

  #line(text: string): void {
    if (this.#on) printLines([text]);
  }

  #style(format: 'bold' | 'cyan' | 'dim' | 'green' | 'red', text: string): string {
    return styleText(format, text, { stream: process.stdout });
  }
}
