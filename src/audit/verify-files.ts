/** Checks what lies beside the segments of a log. */
import { hash } from 'node:crypto';
import path from 'node:path';
import type { AuditFindings } from './audit-findings.ts';
import { readByteRange } from './line-reader.ts';
import { logFileNames, listNamesIn } from './segments.ts';
import type { TornWrite } from './store.ts';
import { withOpenFile } from './log-tail.ts';

const own: ReadonlySet<string> = new Set([
  ...Object.values(logFileNames),
  `${logFileNames.reserve}.new`,
  // Of the lock, which is an SQLite file.
  `${logFileNames.lock}-journal`,
]);

/** @param repaired ends that the log says were set aside */
export function checkLogFiles(
  directory: string,
  repaired: readonly TornWrite[],
  findings: AuditFindings,
): void {
  for (const name of listNamesIn(directory)) {
    if (own.has(name) || /^\d{16}\.jsonl$/.test(name)) continue;
    findings.add('file.foreign', {}, `"${name}" is no file of a log.`);
  }
  const names = new Set(listNamesIn(path.join(directory, logFileNames.torn)));
  for (const { file, sha256, seq } of repaired) {
    const name = path.basename(file);
    const found = [name, name.replace(/\.bin$/, '.new')].find((one) => names.has(one));
    if (found === undefined) {
      findings.add('torn.missing', { seq }, `"${file}", which was set aside, is not there.`);
    } else if (digest(path.join(directory, logFileNames.torn, found)) !== sha256) {
      findings.add('torn.changed', { seq }, `"${file}" is not what was set aside.`);
    }
    names.delete(found ?? '');
  }
  for (const name of names) {
    // Cut off, and the next runtime tells of it.
    if (/^\d{16}-[0-9a-f]{64}\.new$/.test(name)) continue;
    findings.add('file.foreign', {}, `"${logFileNames.torn}/${name}" is in no event.`);
  }
}

const digest = (file: string): string =>
  withOpenFile(file, (fd, length) => hash('sha256', readByteRange(fd, 0, length), 'hex'));
