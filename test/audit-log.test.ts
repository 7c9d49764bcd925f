// What is appended is on disk under a signed head, in its order, whoever appends meanwhile; a log
// is gone on with by the next process, and a failed write refuses.
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, closeSync, existsSync, mkdtempSync, openSync } from 'node:fs';
import { readdirSync, readFileSync, renameSync, rmSync, truncateSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { AuditEvent } from '../src/audit/event.ts';
import { parseEventLine, parseHeadLine } from '../src/audit/line-format.ts';
import { leafHash, MerkleTree } from '../src/audit/merkle.ts';
import { openAuditKey } from '../src/audit/audit-key.ts';
import { listLogDirectories, openAuditLog } from '../src/audit/open-log.ts';
import type { LogState } from '../src/audit/log.ts';
import { verifyHeadNote } from '../src/audit/signed-note.ts';
import { readLogEvents } from '../src/audit/read-events.ts';
import { listSegments } from '../src/audit/log-files.ts';
import { isTrlError } from '../src/errors.ts';

function event(n: number, extra = ''): AuditEvent {
  return { kind: 'exec.started', at: n, actor: 'agent:x', data: { n, extra } };
}

async function withDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  try {
    await use(path.join(root, 'audit'));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** Numbers of own events and kinds of the log's, in order; each head is checked on the way. */
function contents(directory: string, number = 0): (number | string)[] {
  const key = openAuditKey(directory);
  const found: (number | string)[] = [];
  const tree = new MerkleTree();
  for (const { file } of listSegments(path.join(directory, 'logs', String(number)))) {
    for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) {
      const note = parseHeadLine(line);
      if (note === null) {
        const stored = parseEventLine(line);
        assert.equal(stored?.seq, tree.size);
        tree.append(leafHash(line));
        const { kind, data } = stored?.event ?? event(0);
        found.push(kind.startsWith('log.') ? kind : Number(data['n']));
      } else {
        const head = verifyHeadNote(note, key.publicKey);
        assert.deepEqual([head?.size, head?.root], [tree.size, tree.root()]);
      }
    }
  }
  return found;
}

test('events lie in the order of their appends, and each position says where', async () => {
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory, segmentBytes: 4000 });
    assert.equal(log.head(), null);
    const all = await Promise.all(
      Array.from({ length: 30 }, (_, n) => log.append([event(2 * n), event(2 * n + 1)])),
    );
    const positions = all.flat();
    assert.deepEqual(
      positions.map(({ seq }) => seq),
      positions.map((_, at) => at + 1),
    );
    const one = await log.append([event(60)]);
    assert.deepEqual([one[0]?.seq, one[0]?.log, log.size], [61, log.id, 62]);
    assert.equal(verifyHeadNote(log.head() ?? '', openAuditKey(directory).publicKey)?.size, 62);
    await log.close();
    assert.deepEqual(contents(directory), ['log.opened', ...Array(61).keys()]);
  });
});

test('segments end at the edge of a group, and the next runtime goes on', async () => {
  await withDirectory(async (directory) => {
    for (let round = 0; round < 6; round += 1) {
      const log = await openAuditLog({ directory, segmentBytes: 2000 });
      for (let n = 0; n < 3; n += 1) await log.append([event(n, 'x'.repeat(300))]);
      await log.close();
      // As after a crash that lost it, and with it damaged.
      const nodes = path.join(directory, 'logs', '0', 'nodes');
      if (round === 2) rmSync(nodes);
      if (round === 3) truncateSync(nodes, 100);
      if (round === 4) writeFileSync(nodes, Buffer.alloc(4000, 7));
    }
    const round = ['log.opened', 0, 1, 2];
    assert.deepEqual(contents(directory), Array.from({ length: 6 }, () => round).flat());
    assert.ok(listSegments(path.join(directory, 'logs', '0')).length > 3);
  });
});

test('the next runtime continues a log whose last event is long', async () => {
  await withDirectory(async (directory) => {
    for (let round = 0; round < 2; round += 1) {
      const log = await openAuditLog({ directory });
      await log.append([event(round, 'x'.repeat(300_000))]);
      await log.close();
    }
    assert.deepEqual(contents(directory), ['log.opened', 0, 'log.opened', 1]);
    assert.deepEqual(listLogDirectories(directory).length, 1);
  });
});

test('two runtimes write two logs', async () => {
  await withDirectory(async (directory) => {
    const one = await openAuditLog({ directory });
    const two = await openAuditLog({ directory });
    await Promise.all([one.append([event(1)]), two.append([event(2)])]);
    assert.notEqual(one.id, two.id);
    await one.close();
    const three = await openAuditLog({ directory });
    assert.equal(three.id, one.id);
    await Promise.all([two.close(), three.close()]);
    assert.deepEqual(contents(directory), ['log.opened', 1]);
    assert.deepEqual(contents(directory, 1), ['log.opened', 2]);
  });
});

test('a log that is closed twice closes nothing that was opened since', async () => {
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory });
    await log.append([event(0)]);
    await Promise.all([log.close(), log.close()]);
    const opened = Array.from({ length: 4 }, () => openSync('/', 'r'));
    await log.close();
    for (const fd of opened) closeSync(fd);
  });
});

test('an end that one write left unfinished is set aside and recorded', async () => {
  const { size, lines } = await oneLog();
  for (const torn of ['{"ev', '\0'.repeat(500), `${lines[1] ?? ''}\n{"event":{"actor"`]) {
    await withDirectory(async (directory) => {
      const log = await openAuditLog({ directory });
      await log.append([event(0)]);
      await log.close();
      const folder = path.join(directory, 'logs', '0');
      const file = listSegments(folder)[0]?.file ?? '';
      assert.ok(size > 0);
      appendFileSync(file, torn);
      const again = await openAuditLog({ directory });
      await again.append([event(1)]);
      await again.close();
      assert.deepEqual(contents(directory), ['log.opened', 0, 'log.opened', 'log.repaired', 1]);
      const [kept = ''] = readdirSync(path.join(folder, 'torn'));
      assert.match(kept, /^0000000000000002-[0-9a-f]{64}\.bin$/);
      assert.equal(readFileSync(path.join(folder, 'torn', kept), 'utf8'), torn);
      const repaired = readFileSync(file, 'utf8')
        .split('\n')
        .find((one) => /repaired/.test(one));
      assert.deepEqual(parseEventLine(repaired ?? '')?.event.data, {
        bytes: Buffer.byteLength(torn),
        file: `torn/${kept}`,
        seq: 2,
        sha256: kept.slice(17, -4),
      });
    });
  }
});

async function oneLog(): Promise<{ readonly size: number; readonly lines: readonly string[] }> {
  let lines: string[] = [];
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory });
    await log.append([event(0)]);
    await log.close();
    const file = listSegments(path.join(directory, 'logs', '0'))[0]?.file ?? '';
    lines = readFileSync(file, 'utf8').split('\n');
  });
  return { size: lines.length, lines };
}

test('a log with a changed event is left as evidence, and the next one tells', async () => {
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory });
    for (let n = 0; n < 5; n += 1) await log.append([event(n)]);
    await log.close();
    const file = listSegments(path.join(directory, 'logs', '0'))[0]?.file ?? '';
    const damaged = readFileSync(file, 'utf8').replace('"n":4', '"n":5');
    writeFileSync(file, damaged);
    const next = await openAuditLog({ directory });
    await next.append([event(9)]);
    await next.close();
    assert.equal(readFileSync(file, 'utf8'), damaged);
    assert.deepEqual(contents(directory, 1), ['log.opened', 9]);
    const opened = readFileSync(
      listSegments(path.join(directory, 'logs', '1'))[0]?.file ?? '',
      'utf8',
    );
    const told = parseEventLine(opened.split('\n')[1] ?? '')?.event.data['follows'];
    assert.match(
      JSON.stringify(told),
      new RegExp(`"log":"${log.id}".*not those that its last head`),
    );
    const third = await openAuditLog({ directory });
    assert.equal(third.id, next.id);
    await third.close();
  });
});

test('a log that is deleted, replaced or cut refuses, and then the next one tells', async () => {
  const attacks: ((file: string) => void)[] = [
    (file) => rmSync(file),
    (file) => truncateSync(file, 700),
    (file) => {
      const bytes = readFileSync(file);
      rmSync(file);
      writeFileSync(file, bytes.subarray(0, bytes.length - 3));
    },
    (file) => rmSync(path.dirname(file), { recursive: true }),
  ];
  for (const attack of attacks) {
    await withDirectory(async (directory) => {
      const states: LogState[] = [];
      const onState = (state: LogState): void => void states.push(state);
      const log = await openAuditLog({ directory, onState });
      await log.append([event(0)]);
      await log.append([event(1)]);
      const [before, id] = [log.head(), log.id];
      attack(listSegments(path.join(directory, 'logs', '0'))[0]?.file ?? '');
      await assert.rejects(log.append([event(2)]), (error) =>
        isTrlError(error, 'AUDIT_UNAVAILABLE'),
      );
      await log.append([event(3)]);
      assert.notEqual(log.id, id);
      assert.deepEqual(
        states.map(({ kind }) => kind),
        ['failing', 'ok'],
      );
      await log.close();
      assert.deepEqual(contents(directory, 1), ['log.opened', 'log.interrupted', 3]);
      const file = listSegments(path.join(directory, 'logs', '1'))[0]?.file ?? '';
      const opened = parseEventLine(readFileSync(file, 'utf8').split('\n')[1] ?? '')?.event.data;
      const follows = Object(opened?.['follows']);
      assert.deepEqual([follows.log, follows.head], [id, before]);
    });
  }
});

test('a directory that is away refuses, and work resumes when it is back', async () => {
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory });
    await log.append([event(0)]);
    const logs = path.join(directory, 'logs');
    renameSync(logs, `${logs}.away`);
    for (let n = 0; n < 3; n += 1) {
      await assert.rejects(log.append([event(1), event(2)]), {
        message:
          `Cannot write the audit log "${logs}/0": ` +
          'its directory is not there; restore it, or restart the runtime',
      });
    }
    assert.equal(log.state().kind, 'failing');
    renameSync(`${logs}.away`, logs);
    await log.append([event(3)]);
    assert.deepEqual(log.state(), { kind: 'ok' });
    await log.close();
    assert.deepEqual(contents(directory), ['log.opened', 0, 'log.interrupted', 3]);
    const text = readFileSync(listSegments(path.join(logs, '0'))[0]?.file ?? '', 'utf8');
    const told = parseEventLine(text.split('\n').find((one) => one.includes('log.int')) ?? '');
    assert.equal(told?.event.data['refused'], 6);
  });
});

test('a key that others can read is refused', async () => {
  await withDirectory(async (directory) => {
    const { id } = openAuditKey(directory);
    assert.equal(openAuditKey(directory).id, id);
    chmodSync(path.join(directory, 'key'), 0o644);
    assert.throws(() => openAuditKey(directory), /open to others/);
    chmodSync(path.join(directory, 'key'), 0o600);
    rmSync(path.join(directory, 'key.pub'));
    assert.equal(openAuditKey(directory).id, id);
    assert.ok(existsSync(path.join(directory, 'key.pub')));
    writeFileSync(path.join(directory, 'key.pub'), 'another');
    assert.throws(() => openAuditKey(directory), /not the public half/);
  });
});

test('more than goes into one group is refused by itself', async () => {
  await withDirectory(async (directory) => {
    const log = await openAuditLog({ directory });
    const large = Array.from({ length: 5 }, () => event(1, 'x'.repeat(3.9 * 2 ** 20)));
    const [much, good] = await Promise.allSettled([log.append(large), log.append([event(2)])]);
    assert.deepEqual([much.status, good.status], ['rejected', 'fulfilled']);
    await log.close();
    await assert.rejects(log.append([event(3)]), /closed/);
    assert.deepEqual(contents(directory), ['log.opened', 2]);
  });
});

test('an event that cannot be told as it is keeps no other from being told', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-audit-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const log = await openAuditLog({ directory });
  const failed = (data: AuditEvent['data']): AuditEvent => {
    return { kind: 'exec.failed', at: 1, actor: null, data };
  };
  await log.append([failed({ half: 'a\ud800b' }), failed({ fine: true })]);
  await log.append([failed({ much: 'x'.repeat(5 * 1024 * 1024) })]);
  await log.close();
  const [place = ''] = listLogDirectories(directory);
  const told = [...readLogEvents(place, { kinds: ['exec.failed'] }, 'oldest')].map(
    ({ event: { data } }) => data,
  );
  assert.deepEqual(told[0], { half: 'a\ufffdb' });
  assert.deepEqual(told[1], { fine: true });
  assert.equal(typeof told[2]?.['omitted_sha256'], 'string');
});
