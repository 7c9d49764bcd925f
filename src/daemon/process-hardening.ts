/**
 * Closes the ways by which a process shows its memory: core dump, diagnostic report, debugger. All
 * of them can be switched on from outside, by variables and signals.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/**
 * Node has no `setrlimit`. Instead no memory at all goes into a core dump (`coredump_filter`),
 * which holds for dumps into a pipe, too, and passes to the runner and what it starts.
 *
 * @param isDebugged whether the environment asks for a debugger; only then is its part loaded
 * @returns sentences for the log: what was found open, and what could not be closed
 */
export async function hardenProcess(isDebugged: boolean): Promise<string[]> {
  const said: string[] = [];
  process.report.excludeEnv = true;
  process.report.reportOnFatalError = false;
  process.report.reportOnSignal = false;
  process.report.reportOnUncaughtException = false;
  if (process.platform === 'linux' && !withoutMemoryInCores()) {
    said.push('a core dump of this process would hold secrets: run it with ulimit -c 0');
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

/** Whether Node was told to open a debugger. */
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
