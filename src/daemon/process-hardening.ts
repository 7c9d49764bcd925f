/**
 * Closes the ways in which a process exposes its memory: core dump, diagnostic report, debugger.
 * Variables and signals from outside can switch on all of them.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Node has no `setrlimit`. Instead, `coredump_filter` excludes all memory from core dumps. It also
 * applies to dumps into a pipe, and the runner and its children inherit it.
 *
 * @param isDebugged whether the environment requests a debugger; only then is that part loaded
 * @returns sentences for the log: what was open, and what could not be closed
 */
export async function hardenProcess(isDebugged: boolean): Promise<string[]> {
  const said: string[] = [];
  process.report.excludeEnv = true;
  process.report.reportOnFatalError = false;
  process.report.reportOnSignal = false;
  process.report.reportOnUncaughtException = false;
  if (process.platform === 'linux' && !withoutMemoryInCores()) {
    said.push('a core dump of this process would contain secrets: run it with ulimit -c 0');
  }
  if (isDebugged) {
    const { close, url } = await import('node:inspector');
    if (url() !== undefined) {
      close();
      said.push('the debugger was closed: it would show secrets');
    }
  }
  return said;
}

/** Whether Node's options open a debugger. */
export function hasDebuggerFlag(env: Readonly<Record<string, string | undefined>>): boolean {
  return [env['NODE_OPTIONS'] ?? '', ...process.execArgv].some((text) => text.includes('inspect'));
}

function withoutMemoryInCores(): boolean {
  const file = '/proc/self/coredump_filter';
  try {
    writeFileSync(file, '0');
    return /^0+$/.test(readFileSync(file, 'latin1').trim());
  } catch {
    return false;
  }
}
