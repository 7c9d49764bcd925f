/** The audit log of a daemon under test, read as anybody may who owns its state directory. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { AuditEvent } from '../../src/audit/event.ts';
import { parseEventLine } from '../../src/audit/line-format.ts';

/** `$XDG_STATE_HOME/trl/audit` of a test's daemon. */
export const auditDirectory = (home: string): string => path.join(home, 'state', 'trl', 'audit');

/** All bytes of all segments. */
export function auditText(home: string): string {
  const files = globSync('logs/*/*.jsonl', { cwd: auditDirectory(home) }).toSorted();
  return files.map((name) => readFileSync(path.join(auditDirectory(home), name), 'utf8')).join('');
}

/** Every event, in the order of the log. */
export function auditEvents(home: string): AuditEvent[] {
  return auditText(home)
    .split('\n')
    .flatMap((line) => parseEventLine(line)?.event ?? []);
}

/** Kinds of the events of one command. */
export const kindsOf = (home: string, exec: string): string[] =>
  auditEvents(home)
    .filter((event) => event.exec === exec)
    .map(({ kind }) => kind);
