/** `trl doctor`: what the runtime needs, whether it is here, and one command for what is not. */
import path from 'node:path';
import { defaultSocketPath } from '../local/index.ts';
import type { CliArguments } from './args.ts';
import { checkHost } from './doctor-host.ts';
import { checkUserDirectories } from './doctor-directories.ts';
import { checkRuntime } from './doctor-runtime.ts';
import { checkAmbiguousSecrets } from './doctor-secrets.ts';
import { dimText, escapeControls, printJson } from './print.ts';

/** Exit code 0 when nothing that is needed is missing, else 1. */
export async function runDoctor(args: CliArguments): Promise<number> {
  const socketPath = path.resolve(args.text('socket-path') ?? defaultSocketPath());
  const checks = [
    ...(await checkHost()),
    ...(await checkUserDirectories(socketPath)),
    await checkAmbiguousSecrets(),
    ...(await checkRuntime(args, socketPath)),
  ];
  const healthy = checks.every(({ state }) => state !== 'missing');
  if (args.has('json')) {
    printJson({ healthy, checks });
    return healthy ? 0 : 1;
  }
  const marks = { ok: 'ok     ', missing: 'MISSING', optional: 'absent ', warning: 'WARNING' };
  for (const { name, state, found, fix } of checks) {
    process.stdout.write(`${marks[state]}  ${name.padEnd(17)}  ${escapeControls(found)}\n`);
    if (state !== 'ok' && fix !== null) {
      process.stdout.write(`${''.padEnd(28)}${dimText(`→ ${fix}`)}\n`);
    }
  }
  return healthy ? 0 : 1;
}
