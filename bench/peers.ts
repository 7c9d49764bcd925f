/** What TRL is measured against, started from this very process. */
import { spawnSync } from 'node:child_process';
import { runProgram } from './processes.ts';
import type { Contender } from './stats.ts';

const bwrapArgs = ['--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc'];

export const rawName = 'child_process.spawn';
export const bwrapName = 'bwrap --unshare-all';
export const srtName = 'sandbox-runtime';

export interface Peers {
  readonly contenders: readonly Contender[];
  /** Why a peer is missing, one sentence each. */
  readonly missing: readonly string[];
  end(): Promise<void>;
}

const has = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

export async function openPeers(work: string): Promise<Peers> {
  const missing: string[] = [];
  const contenders: Contender[] = [
    { name: rawName, run: () => runProgram('bash', ['-c', 'true'], { cwd: work }) },
  ];
  if (has('bwrap')) {
    const args = [...bwrapArgs, 'bash', '-c', 'true'];
    contenders.push({ name: bwrapName, run: () => runProgram('bwrap', args, { cwd: work }) });
  } else {
    missing.push('bwrap is not installed');
  }
  const absent = ['socat', 'rg'].filter((program) => !has(program));
  if (absent.length > 0) {
    missing.push(`${srtName} needs ${absent.join(' and ')} (apt-get install socat ripgrep)`);
    return { contenders, missing, end: () => Promise.resolve() };
  }
  const srt = await openSandboxRuntime(work).catch((error: unknown) => {
    missing.push(`${srtName} does not work here: ${String(error).slice(0, 300)}`);
    return null;
  });
  if (srt !== null) contenders.push(srt.contender);
  return { contenders, missing, end: () => srt?.end() ?? Promise.resolve() };
}

/** As a warm library: set up once, then wrapped and spawned for each command. */
async function openSandboxRuntime(
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
