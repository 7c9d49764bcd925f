/** What TRL is measured against, started from this very process. */
import { spawnSync } from 'node:child_process';
import { runProgram } from './processes.ts';
import type { Contender } from './stats.ts';

const bwrapArgs = ['--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];

export const rawName = 'child_process.spawn';
export const bwrapName = 'bwrap --unshare-all';
export const srtName = 'sandbox-runtime';

export interface SandboxRuntime {
  /** `null` where it does not run. */
  readonly contender: Contender | null;
  /** Why not, one sentence. */
  readonly missing: readonly string[];
  end(): Promise<void>;
}

const has = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** The peers that are nothing but a process. */
export function plainPeers(work: string): Contender[] {
  const raw = { name: rawName, run: () => runProgram('bash', ['-c', 'true'], { cwd: work }) };
  const args = [...bwrapArgs, 'bash', '-c', 'true'];
  const bwrap = { name: bwrapName, run: () => runProgram('bwrap', args, { cwd: work }) };
  return has('bwrap') ? [raw, bwrap] : [raw];
}

/** Loads the peer that is a library; the calling process grows by some 40 MB. */
export async function openSandboxRuntime(work: string): Promise<SandboxRuntime> {
  const without = (why: string): SandboxRuntime => ({
    contender: null,
    missing: [`no row for ${srtName}: ${why}`],
    end: () => Promise.resolve(),
  });
  const absent = ['socat', 'rg'].filter((program) => !has(program));
  if (absent.length > 0) {
    return without(`it needs ${absent.join(' and ')} (apt-get install socat ripgrep)`);
  }
  try {
    return { missing: [], ...(await warmLibrary(work)) };
  } catch (error) {
    return without(String(error).slice(0, 300));
  }
}

/** Set up once, then wrapped and spawned for each command. */
async function warmLibrary(
  work: string,
): Promise<{ contender: Contender; end: () => Promise<void> }> {
  const { SandboxManager } = await import('@anthropic-ai/sandbox-runtime');
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [work], denyWrite: [] },
  });
  const run = async (): Promise<void> => {
    const wrapped = await SandboxManager.wrapWithSandbox('true');
    await runProgram('/bin/bash', ['-c', wrapped], { cwd: work });
  };
  try {
    await run();
  } catch (error) {
    await SandboxManager.reset();
    throw error;
  }
  return { contender: { name: srtName, run }, end: () => SandboxManager.reset() };
}
