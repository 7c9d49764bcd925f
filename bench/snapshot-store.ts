/** What the snapshot store costs: `tools/node bench/snapshot-store.ts`. Medians; no targets. */
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { SnapshotStore } from '../src/snapshot/store.ts';
import { TreeIdentity } from '../src/snapshot/tree-identity.ts';

const MiB = 2 ** 20;
const root = mkdtempSync(path.join(tmpdir(), 'trl-bench-store-'));
const words =
  randomBytes(3_000)
    .toString('base64')
    .match(/.{1,7}/g) ?? [];

try {
  await commands();
  await largeFile();
  await opening();
  tree();
} finally {
  rmSync(root, { recursive: true, force: true });
}

function open(name: string): Promise<SnapshotStore> {
  return SnapshotStore.open(path.join(root, name), {
    key: Buffer.alloc(32, 1),
    storeBytesMax: 4096 * MiB,
    fileBytesMax: 256 * MiB,
    keepMs: 86_400_000,
    log: say,
  });
}

/** About as compressible as source text. */
function text(bytes: number): Buffer {
  let line = '';
  while (line.length < bytes) line += `${words[Math.floor(Math.random() * words.length)]} `;
  return Buffer.from(line.slice(0, bytes));
}

async function commands(): Promise<void> {
  const store = await open('commands');
  const baseline = openSync(path.join(root, 'baseline'), 'w');
  const [bare, kept, cpu]: [number[], number[], number[]] = [[], [], []];
  for (let n = 0; n < 300; n += 1) {
    const files = Array.from({ length: 10 }, () => text(4_500));
    let start = performance.now();
    writeSync(baseline, Buffer.concat(files));
    fdatasyncSync(baseline);
    bare.push(performance.now() - start);
    const usage = process.cpuUsage();
    start = performance.now();
    const contents = files.map((file) => store.put(file));
    store.append('changes', `x-${n}`, { contents }, { contents });
    await store.sync();
    kept.push(performance.now() - start);
    const { user, system } = process.cpuUsage(usage);
    cpu.push((user + system) / 1_000);
  }
  closeSync(baseline);
  say(
    `10 files of 4.5 KB, a record, sync: p50 ${p50(kept)} ms, CPU ${p50(cpu)} ms; ` +
      `plain write and fdatasync: p50 ${p50(bare)} ms`,
  );
  await store.close();
}

async function largeFile(): Promise<void> {
  const file = path.join(root, 'large');
  writeFileSync(file, Buffer.concat(Array.from({ length: 128 }, () => text(MiB))));
  const store = await open('large-store');
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const usage = process.cpuUsage();
  const start = performance.now();
  const fd = openSync(file, 'r');
  const { sha256 } = await store.putFile(fd);
  await store.sync();
  closeSync(fd);
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(usage);
  delay.disable();
  say(
    `a file of 128 MiB: ${(128 / seconds).toFixed(0)} MiB/s, ` +
      `${(128e6 / (user + system)).toFixed(0)} MiB/s of CPU, event loop held ` +
      `p99 ${(delay.percentile(99) / 1e6).toFixed(1)}, at most ${(delay.max / 1e6).toFixed(1)} ms`,
  );
  const readStart = performance.now();
  await store.read(sha256);
  say(`read and verified: ${(128_000 / (performance.now() - readStart)).toFixed(0)} MiB/s`);
  await store.close();
}

async function opening(): Promise<void> {
  const count = 100_000;
  const store = await open('many');
  const start = performance.now();
  for (let n = 0; n < count; n += 1) {
    const sha256 = store.put(Buffer.from(`content ${n} `.repeat(20)));
    store.append('changes', `x-${n}`, { n, sha256 }, { contents: [sha256] });
    if (n % 10 === 0) await store.sync();
  }
  await store.sync();
  const { bytes } = store.stats();
  say(`${count} contents and records in ${((performance.now() - start) / 1_000).toFixed(1)} s`);
  // As after a kill: no index of the last segment.
  const scanned = await timed(() => open('many'));
  await scanned.close();
  await store.close();
  const before = process.memoryUsage().rss;
  const indexed = await timed(() => open('many'));
  const grown = (process.memoryUsage().rss - before) / MiB;
  say(`  ${(bytes / MiB).toFixed(0)} MiB on disk, the process grew by ${grown.toFixed(0)} MiB`);
  const getStart = performance.now();
  for (let n = 0; n < 10_000; n += 1) indexed.get('changes', `x-${n * 10}`);
  say(`  a record: ${((performance.now() - getStart) / 10).toFixed(1)} us`);
  await indexed.close();
}

async function timed(work: () => Promise<SnapshotStore>): Promise<SnapshotStore> {
  const start = performance.now();
  const store = await work();
  const { contents, records } = store.stats();
  const ms = (performance.now() - start).toFixed(0);
  say(`  opened in ${ms} ms: ${contents} contents, ${records} records`);
  return store;
}

function tree(): void {
  const identity = new TreeIdentity();
  const file = (n: number): { type: 'file'; mode: number; size: number } & Rest => ({
    type: 'file',
    mode: 0o644,
    size: n,
    mtimeMs: 0,
    sha256: n.toString(16).padStart(64, '0'),
  });
  for (let n = 0; n < 50_000; n += 1) identity.change(`d/${n}`, null, file(n));
  identity.id();
  const [changed, viewed]: [number[], number[]] = [[], []];
  for (let round = 1; round <= 300; round += 1) {
    let start = performance.now();
    for (let n = 0; n < 5; n += 1) {
      identity.change(`d/${n}`, file(n + (round - 1) * 50_000), file(n + round * 50_000));
    }
    identity.id();
    changed.push(performance.now() - start);
    start = performance.now();
    identity.viewId([{ path: 'other', before: null, after: file(round) }]);
    viewed.push(performance.now() - start);
  }
  say(`tree id after 5 changes with 50,000: p50 ${p50(changed)} ms; of a view: ${p50(viewed)} ms`);
}

interface Rest {
  readonly mtimeMs: number;
  readonly sha256: string;
}

function p50(times: readonly number[]): string {
  return (times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0).toFixed(2);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
