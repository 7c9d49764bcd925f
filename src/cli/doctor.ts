/** `trl doctor`: what the runtime needs, whether it is here, and one command for what is not. */
import path from 'node:path';
import { defaultSocketPath } from '../local/index.ts';
import type { Args } from './args.ts';
import { hostChecks } from './doctor-host.ts';
import { placeChecks } from './doctor-places.ts';
import { runtimeChecks } from './doctor-runtime.ts';
import { secretsCheck } from './doctor-secrets.ts';
import { dim, plain, sayJson } from './show.ts';

/** Exit code 0 when nothing that is needed is missing, else 1. */
export async function doctor(args: Args): Promise<number> {
  const socketPath = path.resolve(args.text('socket-path') ?? defaultSocketPath());
  const checks = [
    ...(await hostChecks()),
    ...(await placeChecks(socketPath)),
    await secretsCheck(),
    ...(await runtimeChecks(args, socketPath)),
  ];
  const healthy = checks.every(({ state }) => state !== 'missing');
  if (args.has('json')) {
    sayJson({ healthy, checks });
    return healthy ? 0 : 1;
  }
  const marks = { ok: 'ok     ', missing: 'MISSING', optional: 'absent ', warning: 'WARNING' };
  for (const { name, state, found, fix } of checks) {
    process.stdout.write(`${marks[state]}  ${name.padEnd(17)}  ${plain(found)}\n`);
    if (state !== 'ok' && fix !== null) {
      process.stdout.write(`${''.padEnd(28)}${dim(`→ ${fix}`)}\n`);
    }
  }
  return healthy ? 0 : 1;
}
