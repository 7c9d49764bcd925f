/** The thread that reads and checks logs: answers one query of `log-queries.ts`, then ends. */
import { parentPort, workerData } from 'node:worker_threads';
import { readPublicKey } from '../../audit/audit-key.ts';
import { findLogDirectory, readEventAt, readEvents } from '../../audit/read-events.ts';
import { verifyLogs } from '../../audit/verify.ts';
import { TrlError } from '../../errors.ts';
import type { LogQueries } from './log-queries.ts';

type Given = { readonly directory: string } & Partial<LogQueries>;

async function answer({ directory, newest, event, verify }: Given): Promise<unknown> {
  if (newest !== undefined) {
    return [...readEvents(directory, newest.filter, 'newest').take(newest.limit)];
  }
  if (event !== undefined) {
    const log = findLogDirectory(directory, event.log);
    return log === null ? null : readEventAt(log, event.seq);
  }
  if (verify === undefined) return null;
  const publicKey = readPublicKey(verify.publicKeyFile);
  return verifyLogs({ directory, publicKey, heads: verify.heads });
}

const given: Given = workerData;
try {
  parentPort?.postMessage({ value: await answer(given) }, []);
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof TrlError ? error.code : 'INTERNAL_ERROR';
  parentPort?.postMessage({ error: { code, message } }, []);
}
