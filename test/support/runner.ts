/** A runner without a daemon, for tests of what only the runner does. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { approveByPolicy } from '../../src/approval/approve.ts';
import type { Box, ExecId, Exit, OutputProgress, Plan, SessionId } from '../../src/command.ts';
import type { KnownSecret } from '../../src/redacted.ts';
import { allowVerdict } from '../../src/policy/verdict.ts';
import { openRunner } from '../../src/process/runner.ts';
import type { Sealing } from '../../src/redactor/wire.ts';
import type { RunnerLinkEvents, RunnerLink } from '../../src/process/runner-link.ts';
import type { RefreshResult } from '../../src/runner/operations.ts';
import { resolveBounds } from '../../src/session/bounds.ts';
import { newExecId, newSessionId } from '../../src/session/record.ts';
import type { Json } from './daemon.ts';

/** Parts of the plan, and values that its output must not show. */
export type Started = Partial<Plan> & { readonly known?: readonly KnownSecret[] };

export interface LoneRunner extends AsyncDisposable {
  /** Running digests, in the order they were told. */
  readonly progress: readonly OutputProgress[];
  readonly link: RunnerLink;
  /** Another daemon in this one's place: its connection, over which exits come from then on. */
  takeOver(): Promise<RunnerLink>;
  readonly session: SessionId;
  /** Runs a command in the session to its end; its output is what it wrote to a file. */
  run(command: string, box: Box, options?: Started): Promise<Exit>;
  start(
    command: string,
    box: Box,
    options?: Started,
  ): Promise<{ readonly id: ExecId; readonly ended: Promise<Exit> }>;
  refresh(paths?: readonly string[]): Promise<RefreshResult>;
}

const redaction = {
  key: '00'.repeat(32),
  profile: 'balanced',
  thresholds: {},
  patterns: [],
} as const;

export async function openLoneRunner(
  cwd: string,
  sealing: Sealing | null = null,
): Promise<LoneRunner> {
  const home = mkdtempSync(path.join(tmpdir(), 'trl-lone-'));
  const program = path.join(import.meta.dirname, '../../dist/runner.js');
  const exits = new Map<ExecId, (exit: Exit) => void>();
  const progress: OutputProgress[] = [];
  const options = {
    stateDir: home,
    env: {},
    journalsBytes: 1 << 24,
    commandsMax: 16,
    sessionsMax: 64,
    lingerMs: 5_000,
    program,
    redaction,
    sealing,
  };
  const events: RunnerLinkEvents = {
    exit: (exit) => exits.get(exit.exec_id)?.(exit),
    progress: (one) => progress.push(one),
    waiting: () => {},
    toolCall: () => {},
    hostAsked: () => {},
    lost: () => {},
  };
  const { link } = await openRunner(options, events);
  let last = link;
  const session = newSessionId();
  const start: LoneRunner['start'] = async (command, box, { known = [], ...options } = {}) => {
    const plan: Plan = {
      exec_id: newExecId(),
      session_id: session,
      command,
      argv: null,
      shell: { path: '/bin/bash', dialect: 'bash' },
      cwd,
      cwd_fallback: '/',
      env: { PATH: '/usr/bin:/bin' },
      command_env: {},
      carry: 'none',
      mode: 'foreground',
      stdin: { kind: 'closed' },
      pty: null,
      bounds: resolveBounds({}, 'foreground'),
      box,
      ...options,
    };
    const ended = new Promise<Exit>((resolve) => exits.set(plan.exec_id, resolve));
    const sealed = link.seal(approveByPolicy(plan, allowVerdict('test', 'is its own')));
    await link.request('launch', { ...sealed, known });
    return { id: plan.exec_id, ended };
  };
  return {
    link,
    progress,
    takeOver: async () => {
      last = (await openRunner(options, events)).link;
      return last;
    },
    session,
    start,
    run: async (...given) => {
      const { ended } = await start(...given);
      return ended;
    },
    refresh: async (paths = []) => {
      const answer: Json = await link.request('refresh', { view: 'view', paths });
      return { holder: answer.holder, why: answer.why };
    },
    [Symbol.asyncDispose]: async () => {
      await last.request('shutdown', {}).catch(() => {});
      last.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
