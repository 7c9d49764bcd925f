/**
 * `trl demo`: the runtime in a few seconds, without configuration and without a trace. Everything
 * that is shown is a real run, in a runtime of the demo's own whose directories go with it; every
 * mark is a check of what happened.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { clientOver } from '../client/index.ts';
import { isTrlError } from '../errors.ts';
import { spawnDaemon } from '../local/index.ts';
import type { CliArguments } from './args.ts';
import { mcpInstallLine } from './demo-install.ts';
import { DemoPrinter } from './demo-printer.ts';
import { demoSteps } from './demo-steps.ts';
import type { DemoStepResult } from './demo-steps.ts';
import { Interrupts } from './interrupts.ts';
import { printJson } from './print.ts';

/** Exit code 0 when everything was as it should be, else 1. */
export async function runDemo(args: CliArguments): Promise<number> {
  using interrupts = new Interrupts();
  const paper = new DemoPrinter(!args.has('json'));
  const begun = performance.now();
  const base = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-demo-')));
  try {
    const told = await perform(base, paper, interrupts.signal);
    const ok = told.every((one) => one.ok);
    const durationMs = Math.round(performance.now() - begun);
    const install = mcpInstallLine();
    if (args.has('json')) printJson({ ok, duration_ms: durationMs, acts: told, install });
    else paper.end(ok, durationMs, install);
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
  paper: DemoPrinter,
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
  const stage = { client, work, state, paper, signal, receipts: [] };
  const told: DemoStepResult[] = [];
  for (const { title, play } of demoSteps) {
    signal.throwIfAborted();
    paper.title(told.length + 1, title);
    try {
      told.push({ title, ...(await play(stage)) });
    } catch (error) {
      signal.throwIfAborted();
      const found = isTrlError(error) ? `${error.message} [${error.code}]` : String(error);
      told.push({ title, ok: false, command: null, found });
    }
    const last = told.at(-1);
    if (last !== undefined) paper.check(last.ok, last.found);
    // Without a sandbox the rest would say the same.
    if (told.length === 1 && last?.ok === false) {
      paper.advice('the reason, and what helps: trl doctor');
      break;
    }
  }
  return told;
}
