// npm run prove: a writer is killed at random moments while it writes, sweeps and gives up old
// changes. After each kill a new one goes on from what is there; what a sync had answered for, and
// was neither dropped nor given up, must be whole.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { SnapshotStore } from '../../src/snapshot/store.ts';

const [, program = '', mode, dir = ''] = process.argv;
const rounds = process.env['TRL_PROVE'] === 'full' ? 200 : 15;

if (mode === 'write') await write();
else await prove();

function openStore(at: string, onDrop: (id: string) => void): Promise<SnapshotStore> {
  return SnapshotStore.open(at, {
    key: Buffer.alloc(32, 6),
    storeBytesMax: 3 * 2 ** 20,
    fileBytesMax: 2 ** 20,
    keepMs: 86_400_000,
    segmentBytes: 100_000,
    log: () => undefined,
    onDrop: ({ id }) => onDrop(id),
  });
}

/** A content that its record's number tells. */
function contentOf(n: number): Buffer {
  const length = 1 + (n % 40) * 16;
  return Buffer.concat(Array.from({ length }, (_, at) => hash('sha256', `${n} ${at}`, 'buffer')));
}

/** Says `gone ID` before a record's end may be on disk, and `kept N` when it is there. */
async function write(): Promise<void> {
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const store = await openStore(dir, (id) => say(`gone ${id}`));
  const ids = [...store.records('changes')].map(({ id }) => Number(id.slice(2)));
  for (let n = Math.max(0, ...ids) + 1; ; n += 1) {
    const contents = [store.put(contentOf(n)), store.put(Buffer.from('shared by all'))];
    assert.ok(
      contents.every((sha256) => store.has(sha256)),
      'there is room',
    );
    store.append('changes', `x-${n}`, { n, contents }, { contents });
    if (n % 5 === 0) {
      say(`gone x-${n - 3}`);
      store.drop('changes', `x-${n - 3}`);
    }
    if (n % 7 === 0) void store.retain();
    await store.sync();
    say(`kept ${n}`);
  }
}

async function prove(): Promise<void> {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-kill-'));
  const [kept, gone] = [new Set<number>(), new Set<string>()];
  let tornBytes = 0;
  try {
    for (let round = 0; round < rounds; round += 1) {
      await killed(path.join(root, 'store'), (line) => {
        const [word, name = ''] = line.split(' ');
        if (word === 'gone') gone.add(name);
        else kept.add(Number(name));
      });
      const store = await openStore(path.join(root, 'store'), (id) => gone.add(id));
      tornBytes += store.stats().tornBytes;
      for (const n of kept) await check(store, n, gone);
      for (const { id } of store.records('changes')) await check(store, Number(id.slice(2)), gone);
      const { damaged, damagedBytes } = store.stats();
      assert.deepEqual({ damaged, damagedBytes }, { damaged: 0, damagedBytes: 0 });
      await store.close();
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  const left = [...kept].filter((n) => !gone.has(`x-${n}`)).length;
  process.stdout.write(
    `${rounds} kills: ${kept.size} commands answered for, ${left} of them still wanted and ` +
      `whole; ${tornBytes} B of unfinished ends cut off\n`,
  );
}

async function check(store: SnapshotStore, n: number, gone: Set<string>): Promise<void> {
  const value = store.get('changes', `x-${n}`);
  if (value === null && gone.has(`x-${n}`)) return;
  const sha256 = hash('sha256', contentOf(n), 'hex');
  const shared = hash('sha256', 'shared by all', 'hex');
  assert.deepEqual(value, { n, contents: [sha256, shared] }, `x-${n}`);
  assert.ok((await store.read(sha256))?.equals(contentOf(n)), `x-${n}`);
  assert.equal(String(await store.read(shared)), 'shared by all');
}

/** Starts a writer and kills it at a random moment after it began to write. */
async function killed(at: string, tell: (line: string) => void): Promise<void> {
  const child = spawn(process.execPath, [program, 'write', at], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    if (text === '') setTimeout(() => child.kill('SIGKILL'), Math.random() * 150);
    text += chunk;
  });
  const code = await new Promise((resolve) => {
    child.once('close', (exitCode) => resolve(exitCode));
  });
  assert.equal(code, null, 'the writer ended by itself');
  // A line without its end was not said.
  for (const line of text.split('\n').slice(0, -1)) tell(line);
}
