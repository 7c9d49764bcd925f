/**
 * Loaded into a measured daemon before everything else (`--import`): nothing of a command is
 * recorded, stated or signed, as if there were no audit log. The baseline of `workspace-cost.ts`.
 */
import { isMainThread } from 'node:worker_threads';
import { ExecRecorder } from '../src/daemon/auditing/exec-recorder.ts';
import { LazyAuditLog } from '../src/daemon/auditing/lazy-audit-log.ts';

if (isMainThread) {
  const nothing = (): void => {};
  Object.assign(ExecRecorder.prototype, {
    expect: nothing,
    printed: nothing,
    failed: nothing,
    starting: () => Promise.resolve(),
    ended: () => Promise.resolve(null),
  });
  Object.assign(LazyAuditLog.prototype, { append: () => Promise.resolve([]) });
}
