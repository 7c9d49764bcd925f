/** Runs the self-test inside a session's sandbox: what it cannot confirm is refused. */
import { approveByPolicy } from '../../approval/approve.ts';
import type { Assurance, Plan } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import type { ExecutionContext } from '../../execution.ts';
import { allowVerdict } from '../../policy/verdict.ts';
import { judgeProbe, probeScript } from '../../sandbox/probe.ts';
import { resolveBounds } from '../../session/bounds.ts';
import { newExecId } from '../../session/record.ts';
import { collectOutput } from '../executions/read-output.ts';
import type { Runners } from '../runners.ts';

const probeTimeoutMs = 10_000;

/**
 * @throws TrlError `SANDBOX_UNAVAILABLE` naming what is not enforced
 */
export async function probeSandbox(
  runners: Runners,
  ground: ExecutionContext,
  granted: readonly string[],
): Promise<Assurance> {
  const { box } = ground;
  if (box.kind === 'none') return { level: 'none', checks: [] };
  const plan: Plan = {
    exec_id: newExecId(),
    session_id: ground.sessionId,
    command: probeScript(granted),
    argv: null,
    shell: { path: '/bin/sh', dialect: 'posix' },
    cwd: null,
    cwd_fallback: '/',
    env: ground.env,
    command_env: {},
    carry: 'none',
    mode: 'detached',
    stdin: { kind: 'closed' },
    pty: null,
    bounds: resolveBounds({ timeout_ms: probeTimeoutMs }, 'detached'),
    box,
  };
  const permitted = allowVerdict('self-test', 'the runtime probes its own sandbox');
  const own = { known: [], own: true, committed: null };
  await runners.launch(approveByPolicy(plan, permitted), own);
  const link = await runners.link();
  const [output] = await Promise.all([
    collectOutput(link, plan.exec_id, 64 * 1024),
    runners.exited(plan.exec_id),
  ]);
  const expected = { level: box.holder.level, network: ground.network };
  const assurance = judgeProbe(output.stdout.result().text, expected);
  if (assurance.level !== 'none') return assurance;
  const failed = assurance.checks.filter(({ enforced }) => !enforced);
  const names = failed.map(({ name }) => name).join(', ');
  throw new TrlError('SANDBOX_UNAVAILABLE', `Cannot trust the sandbox: not enforced: ${names}`);
}
