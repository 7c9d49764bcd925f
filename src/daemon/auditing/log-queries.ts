/**
 * Reads and checks logs in a separate thread, because they are of any size and commands must not
 * wait. The thread ends after its answer.
 */
import { Worker } from 'node:worker_threads';
import type { EventFilter, AuditLogEntry } from '../../audit/read-events.ts';
import type { LogsReport } from '../../audit/verify.ts';
import { embeddedText } from '../../embedded.ts';
import { errorTable, TrlError, type ErrorCode } from '../../errors.ts';

/** The queries that a thread answers; `directory` contains all logs. */
export interface LogQueries {
  readonly newest: { readonly filter: EventFilter; readonly limit: number };
  readonly event: { readonly log: string; readonly seq: number };
  readonly verify: { readonly publicKeyFile: string; readonly heads: readonly string[] };
}
interface Answers {
  readonly newest: readonly AuditLogEntry[];
  readonly event: AuditLogEntry | null;
  readonly verify: LogsReport;
}

type Answer<Value> =
  | { readonly value: Value }
  | { readonly error: { readonly code: string; readonly message: string } };

/** @throws TrlError as the query does; `INTERNAL_ERROR` if the thread ends without an answer */
export function queryLogs<What extends keyof LogQueries>(
  what: What,
  directory: string,
  asked: LogQueries[What],
): Promise<Answers[What]> {
  const { promise, resolve, reject } = Promise.withResolvers<Answers[What]>();
  const data = { directory, [what]: asked };
  const worker = new Worker(program(), { workerData: data, env: {} });
  worker.unref();
  worker.once('message', (answer: Answer<Answers[What]>) => {
    if ('value' in answer) resolve(answer.value);
    else reject(new TrlError(codeOf(answer.error.code), answer.error.message));
  });
  worker.once('error', reject);
  worker.once('exit', () => {
    reject(new TrlError('INTERNAL_ERROR', 'Cannot read the audit log: the reader ended'));
  });
  return promise;
}

/** The built version, of a checkout too: a thread compiles the sources at each start. */
const program = (): URL =>
  embedded() ??
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/audit-reader.js' : './audit-reader.js',
    import.meta.url,
  );

/** A single executable contains no file from which a thread could start. */
function embedded(): URL | null {
  const text = embeddedText('audit-reader.js');
  return text === null ? null : new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

function codeOf(code: string): ErrorCode {
  return isErrorCode(code) ? code : 'INTERNAL_ERROR';
}

const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(errorTable, code);
