// Writes a log until it is killed, and says `ack SEQ LEAF` of each event that was answered for.
import { writeSync } from 'node:fs';
import { openAuditLog } from '../../src/audit/open-log.ts';
import { auditEvent } from './audit-log.ts';

const [, , directory = ''] = process.argv;
const writersMax = 8;

const log = await openAuditLog({ directory, segmentBytes: 60_000 });
for (let writer = 0; writer < writersMax; writer += 1) void write(writer);

async function write(writer: number): Promise<void> {
  for (let n = 0; ; n += 1) {
    const events = Array.from({ length: 1 + ((n + writer) % 4) }, () =>
      auditEvent(n, 'x'.repeat((n * 37) % 900)),
    );
    try {
      const positions = await log.append(events);
      // At once: what is buffered here dies with the process.
      writeSync(1, positions.map(({ seq, leaf }) => `ack ${log.id} ${seq} ${leaf}\n`).join(''));
    } catch (error) {
      writeSync(1, `failed ${String(error)}\n`);
      return;
    }
  }
}
