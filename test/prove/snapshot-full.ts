// npm run prove: a store on a disk that fills up, has room again, and fills up once more. Its one
// argument is a directory on a small file system; without one it mounts such a file system.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isTrlError } from '../../src/errors.ts';
import { SnapshotStore } from '../../src/snapshot/store.ts';

const [, program = '', root] = process.argv;
if (root === undefined) mountAndFill();
else await fill(root);

function mountAndFill(): void {
  const mount = 'mount -t tmpfs -o size=4m none /mnt';
  const inside = ['-Urm', '--map-root-user', 'sh', '-c'];
  const can = spawnSync('unshare', [...inside, mount], { encoding: 'utf8' });
  if (can.status !== 0) {
    const why = can.error ?? can.stderr.trim();
    process.stdout.write(`skipped: no small file system can be mounted: ${String(why)}\n`);
    return;
  }
  const self = [process.execPath, program, '/mnt'];
  const run = spawnSync('unshare', [...inside, `${mount} && exec "$0" "$@"`, ...self], {
    stdio: 'inherit',
    timeout: 60_000,
  });
  process.exitCode = run.status ?? 1;
}

async function fill(onto: string): Promise<void> {
  const lines: string[] = [];
  const options = {
    key: Buffer.alloc(32, 5),
    storeBytesMax: 64 * 2 ** 20,
    fileBytesMax: 2 ** 20,
    keepMs: 86_400_000,
    log: (line: string) => void lines.push(line),
  };
  const dir = path.join(onto, 'store');
  const store = await SnapshotStore.open(dir, options);
  const ballast = path.join(onto, 'ballast');
  const kept: { id: string; sha256: string; isDurable: boolean }[] = [];
  let failures = 0;
  for (let n = 0; n < 60; n += 1) {
    // Full from the twentieth on, and again after the fortieth.
    if (n === 20 || n === 40) fillUp(ballast);
    if (n === 30 || n === 50) rmSync(ballast);
    const sha256 = store.put(randomBytes(20_000));
    store.append('changes', `x-${n}`, { n }, { contents: [sha256] });
    const isDurable = await store.sync().then(
      () => true,
      (error: unknown) => {
        assert.ok(isTrlError(error, 'BACKEND_UNAVAILABLE'), String(error));
        assert.match(error.message, /no space is left on the disk/);
        if (failures === 0) process.stdout.write(`${error.message}\n`);
        failures += 1;
        return false;
      },
    );
    kept.push({ id: `x-${n}`, sha256, isDurable });
    assert.equal((await store.read(sha256))?.length, 20_000, 'what waits can be read');
  }
  assert.ok(failures >= 10 && failures < 30, `${failures} failures`);
  await store.close();
  const again = await SnapshotStore.open(dir, options);
  for (const { id, sha256 } of kept) {
    assert.notEqual(again.get('changes', id), null, id);
    assert.equal((await again.read(sha256))?.length, 20_000, id);
  }
  const { damaged, damagedBytes } = again.stats();
  assert.deepEqual({ damaged, damagedBytes }, { damaged: 0, damagedBytes: 0 });
  await again.close();
  process.stdout.write(`60 commands, ${failures} met a full disk, all are kept in the end\n`);
}

function fillUp(file: string): void {
  for (let bytes = 4 * 2 ** 20; bytes > 0; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' });
    } catch (error) {
      assert.match(String(error), /ENOSPC/);
    }
  }
}
