/** A daemon that is killed while a command writes, started again, and what the client got of it. */
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connectLocal } from '../../src/local/index.ts';
import { startRuntime, type Daemon } from './daemon.ts';
import { descendantsOf, eventually, processesNamed, runnerPid } from './processes.ts';

export interface Outage {
  /** Bytes that the command writes. */
  readonly bytes: number;
  /** Bytes that the client has when the daemon is killed. */
  readonly killAt: number;
  /** Bytes that the command's journal holds. */
  readonly journalBytes: number;
  /** Bytes of all journals; default the runtime's. */
  readonly journalsBytes?: number;
  /** The daemon starts again only when the command has ended. */
  readonly awaitEnd?: boolean;
}

export interface Outcome {
  readonly received: number;
  readonly sha256: string;
  readonly wanted: string;
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  readonly exitCode: number;
  readonly journalBytes: number;
  readonly reattachMs: number;
  readonly seconds: number;
}

/** Lines of rising numbers: no two pieces of it are alike. */
const generator = (bytes: number): string => `seq 1 999999999 | head -c ${bytes}`;

/** A daemon whose runner waits long for it to come back; ends the runner, too. */
export async function patientRuntime(env: Readonly<Record<string, string>> = {}): Promise<Daemon> {
  return startRuntime({ env: { TRL_RUNNER_LINGER_MS: '120000', ...env } });
}

/** Ends the daemon and the runner that would wait for it. */
export async function endRuntime(daemon: Daemon): Promise<void> {
  const pid = runnerPid(daemon);
  await daemon.stop();
  if (pid !== null) process.kill(pid, 'SIGTERM');
}

/** Runs the outage through the typed client, which notices nothing but the pause. */
export async function outage(plan: Outage): Promise<Outcome> {
  const wanted = digestOf(generator(plan.bytes));
  const env =
    plan.journalsBytes === undefined ? {} : { TRL_JOURNALS_BYTES: String(plan.journalsBytes) };
  const first = await patientRuntime(env);
  let second: Daemon | null = null;
  const client = await connectLocal({ socketPath: first.socketPath });
  const begun = performance.now();
  let back = 0;
  let killed = 0;
  try {
    const session = await client.createSession({ shell: '/bin/bash', working_dir: first.root });
    const stream = session.stream(generator(plan.bytes), {
      limits: { journal_bytes: plan.journalBytes },
    });
    const hash = createHash('sha256');
    const gaps: { from: number; to: number }[] = [];
    let received = 0;
    const restart = async (): Promise<void> => {
      killed = performance.now();
      await first.kill();
      if (plan.awaitEnd === true) await quiet(runnerPid(first) ?? 0);
      second = await startRuntime({ home: first.home, env: { ...env, ...patience } });
    };
    let restarting: Promise<void> | null = null;
    for await (const event of stream) {
      if (restarting !== null && back === 0 && second !== null) back = performance.now();
      if (event.type === 'gap') gaps.push({ from: event.from, to: event.to });
      if (event.type !== 'output') continue;
      hash.update(event.bytes);
      received += event.bytes.length;
      if (received >= plan.killAt && restarting === null) {
        restarting = restart();
        await restarting;
      }
    }
    const exit = await stream.exit;
    return {
      received,
      sha256: hash.digest('hex'),
      wanted: await wanted,
      gaps,
      exitCode: exit.exit_code,
      journalBytes: exit.stdout_bytes,
      reattachMs: Math.round(back - killed),
      seconds: (performance.now() - begun) / 1_000,
    };
  } finally {
    await client.close();
    await endRuntime(second ?? first);
    await first.stop();
  }
}

const patience = { TRL_RUNNER_LINGER_MS: '120000' };

/** Waits until nothing runs below `pid` but prepared sandboxes: the command is over. */
async function quiet(pid: number): Promise<void> {
  await eventually('the end of the command', () => {
    const below = new Set(descendantsOf(pid).map((one) => one.pid));
    return processesNamed(/^seq 1 9/).every((one) => !below.has(one.pid));
  });
}

/** What the generator writes on this host, without us. */
async function digestOf(script: string): Promise<string> {
  const child = spawn('/bin/sh', ['-c', `${script} | sha256sum`], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part));
  await once(child, 'close');
  return text.slice(0, 64);
}
