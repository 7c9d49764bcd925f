// npm run prove: what the histories of two writers look for is found. In copies of the program,
// each with one check less, the same histories must fail.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const project = path.dirname(path.dirname(import.meta.dirname));
const merging = 'src/host/file-merger.ts';
const contents = 'src/workspace/merge/merge-contents.ts';

/** What a check is, and what stands there without it. */
const mutants = {
  'what stands there is asked before it is replaced': [
    'src/workspace/commit/apply.ts',
    'isSameStat(stat, item.baseKey)) return',
    'true) item = Object.assign(item, { baseKey: stat && statKey(stat) }); if (true) return',
  ],
  'both appends are kept': [
    contents,
    'Buffer.concat([base, others, mine])',
    'Buffer.concat([base, mine])',
  ],
  'an append is recognised before lines are compared': [
    contents,
    'return appended(base, ours, theirs) ?? byLines(base, ours, theirs, isApart);',
    'return merged(ours);',
  ],
  'a line that is there is not appended again': [
    merging,
    "if (maySee === 'nothing') return",
    'return',
  ],
  'undo leaves what others wrote since': [
    'src/workspace/commit/undo.ts',
    'mergeContents(',
    "((_: Buffer, __: Buffer, bytes: Buffer) => ({ kind: 'merged', bytes }) as const)(",
  ],
} as const satisfies Record<string, readonly [string, string, string]>;

const run = `import { provenWriters } from './test/support/two-writers.ts';
  await provenWriters({ runs: 2_000 });`;

function copy(): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'trl-mutant-'));
  for (const name of ['src', 'test/support', 'package.json']) {
    cpSync(path.join(project, name), path.join(dir, name), { recursive: true });
  }
  symlinkSync(path.join(project, 'node_modules'), path.join(dir, 'node_modules'));
  return dir;
}

for (const [check, [file, what, instead]] of Object.entries(mutants)) {
  const dir = copy();
  try {
    const at = path.join(dir, file);
    const text = readFileSync(at, 'utf8');
    assert.ok(text.includes(what), `${file} has no ${what}`);
    writeFileSync(
      at,
      text.replaceAll(what, () => instead),
    );
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', run], {
      cwd: dir,
      encoding: 'utf8',
      timeout: 300_000,
    });
    const failure = /AssertionError.*: (.*)/.exec(stderr)?.[1];
    assert.ok(status === 1 && failure !== undefined, `without "${check}" nothing fails: ${stderr}`);
    const count = /failed after (\d+)/.exec(stderr)?.[1];
    process.stdout.write(`without "${check}": after ${count}: ${failure}\n`);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
