// Logs to check and to attack.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AuditEvent } from '../../src/audit/event.ts';
import { openAuditKey } from '../../src/audit/audit-key.ts';
import { openAuditLog } from '../../src/audit/open-log.ts';
import { listSegments } from '../../src/audit/log-files.ts';

export function auditEvent(n: number, extra = ''): AuditEvent {
  return { kind: 'exec.started', at: n, actor: 'agent:x', data: { n, extra } };
}

/** An `audit` directory below a new one, which is removed whatever happens. */
export async function withAudit(use: (directory: string) => Promise<void>): Promise<void> {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  try {
    await use(path.join(root, 'audit'));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

export interface WriteOptions {
  /** Events besides the one that opens the log. Default: 19. */
  readonly events?: number;
  /** Default: 3. */
  readonly group?: number;
  readonly segmentBytes?: number;
}

/** Writes one log; answers with each head that was the newest one. */
export async function writeLog(directory: string, options: WriteOptions = {}): Promise<string[]> {
  const { events = 19, group = 3, segmentBytes } = options;
  const log = await openAuditLog({ directory, segmentBytes, clock: () => 1_700_000_000_000 });
  const heads: string[] = [];
  for (let n = 0; n < events; n += group) {
    const count = Math.min(group, events - n);
    await log.append(Array.from({ length: count }, (_, at) => auditEvent(n + at)));
    heads.push(log.head() ?? '');
  }
  await log.close();
  return heads;
}

export const logAt = (directory: string, number = 0): string =>
  path.join(directory, 'logs', String(number));

export const segmentFiles = (directory: string, number = 0): string[] =>
  listSegments(logAt(directory, number)).map(({ file }) => file);

/** Another directory with the same key. */
export function sameKey(from: string, to: string): void {
  openAuditKey(from);
  for (const name of ['key', 'key.pub']) cpSync(path.join(from, name), path.join(to, name));
}
