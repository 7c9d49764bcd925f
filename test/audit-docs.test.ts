// docs/audit.md shows how to check a log without this program: that is run as it is written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { logAt, segmentFiles, withAudit, writeLog } from './support/audit-log.ts';

const document = readFileSync(
  path.join(path.dirname(import.meta.dirname), 'docs', 'audit.md'),
  'utf8',
);

function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``).exec(document)?.[1];
  assert.ok(found !== undefined, `a block of ${language}`);
  return found;
}

test('the script of the document finds a log good, and a changed one bad', async () => {
  await withAudit(async (directory) => {
    await writeLog(directory, { segmentBytes: 2500 });
    const script = `${directory}.mjs`;
    writeFileSync(script, block('js'));
    const run = (): string => {
      const args = [script, logAt(directory), path.join(directory, 'key.pub')];
      const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
      return stdout + stderr;
    };
    assert.equal(run(), '20 events are good\n');
    const [, file = ''] = segmentFiles(directory);
    const good = readFileSync(file, 'utf8');
    writeFileSync(file, good.replace('"extra":""', '"extra":"x"'));
    assert.match(run(), /is not in its place|bad root/);
    writeFileSync(file, good.replace(/previous \d+/, 'previous 1'));
    assert.match(run(), /bad signature/);
  });
});

test('the commands of the document find the signature of a head good', async (t) => {
  if (spawnSync('openssl', ['version']).status !== 0) {
    t.skip('there is no openssl');
    return;
  }
  await withAudit(async (directory) => {
    const [head = ''] = await writeLog(directory);
    const place = `${directory}.heads`;
    mkdirSync(place);
    copyFileSync(path.join(directory, 'key.pub'), path.join(place, 'key.pub'));
    const run = (note: string): number | null => {
      writeFileSync(path.join(place, 'head'), note);
      return spawnSync('sh', ['-ec', block('sh')], { cwd: place }).status;
    };
    assert.equal(run(head), 0);
    assert.equal(run(head.replace('previous 0', 'previous 1')), 1);
  });
});
