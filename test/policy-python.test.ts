// Python scripts as text: each row of the fixture is judged by CPython's own parser, and none runs.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import type { Analysis } from '../src/policy/analysis.ts';
import { analysePython } from '../src/policy/python/check.ts';
import * as z from 'zod/mini';
import { assertRecorded, fingerprint } from './support/recorded.ts';

const Row = z.object({
  id: z.string(),
  command: z.string(),
  expect: z.enum(['ask', 'block']),
  why: z.string(),
});
const rows = readFileSync(path.join(import.meta.dirname, 'fixtures/policy/python.jsonl'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => Row.parse(JSON.parse(line)));

const decision = ({ findings }: Analysis) =>
  findings.some(({ bound }) => bound === 'block') ? 'block' : 'ask';
const codes = ({ findings }: Analysis) => findings.map(({ code }) => code);

test('every script of the fixture is decided as it is labelled', async () => {
  assert.ok(rows.length >= 60);
  const wrong: string[] = [];
  const outcomes: string[] = [];
  for (const row of rows) {
    const analysis = await analysePython(row.command);
    const found = [...new Set(codes(analysis))].join(' ');
    outcomes.push(`${row.id}\t${decision(analysis)}\t${found}\t${fingerprint(analysis)}`);
    const unread = codes(analysis).includes('python.unread');
    if (unread || decision(analysis) !== row.expect) {
      wrong.push(`${row.id} (${row.why}): ${codes(analysis).join(' ')}`);
    }
  }
  assert.deepEqual(wrong, []);
  assertRecorded('policy/recorded-python.tsv', outcomes);
});

test('a harmless script is asked about and nothing else', async () => {
  const text = 'import json\nprint(json.dumps([1]))\n';
  const { findings, allowed, commands } = await analysePython(text);
  assert.deepEqual(
    findings.map(({ code, bound, span }) => [code, bound, span]),
    [['python.always-asked', 'ask', [0, text.length]]],
  );
  assert.equal(allowed, null);
  assert.equal(commands, 2);
});

test('a finding names its place in UTF-16 units of the text', async () => {
  for (const start of ['', '\ufeff', 's = "\u{1f600}é"\r\n', '\fx = 1\r', '"""\u2028\n""" ; ']) {
    const text = `${start}import os; t = "\u{1f600}"; os.system("a\u{1f600}b")\n`;
    const { findings } = await analysePython(text);
    const found = findings.find(({ bound }) => bound === 'block');
    assert.deepEqual(found?.code, 'python.shell', JSON.stringify(start));
    assert.equal(text.slice(...(found?.span ?? [0, 0])), 'os.system("a\u{1f600}b")');
  }
});

test('nothing of the text runs', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'trl-python-'));
  try {
    const marker = path.join(folder, 'marker');
    const name = JSON.stringify(marker);
    const analysis = await analysePython(
      `f = open(${name}, "w")\n@(lambda f: open(${name}, "w"))\ndef f(a=open(${name}, "w")): 1\n`,
    );
    assert.deepEqual(codes(analysis), ['python.always-asked']);
    assert.equal(existsSync(marker), false);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what cannot be read is asked about, never more and never less', async () => {
  const texts: readonly [string, string][] = [
    ['def f(:\n', 'python.syntax'],
    ['x = "\0"', 'python.syntax'],
    ['('.repeat(5_000), 'python.syntax'],
    ['x = ' + '-'.repeat(60_000) + '1', 'limit.nesting'],
    ['x' + '.y'.repeat(30_000), 'limit.nesting'],
    ['x = ' + '['.repeat(150) + ']'.repeat(150), 'python.always-asked'],
  ];
  for (const [text, code] of texts) {
    const analysis = await analysePython(text);
    assert.equal(decision(analysis), 'ask', text.slice(0, 20));
    const unclear = ['python.syntax', 'limit.nesting', 'python.unread'];
    const seen = codes(analysis);
    const wanted = code === 'python.always-asked' ? seen.length === 1 : seen.length > 1;
    assert.ok(wanted && seen.slice(1).every((one) => unclear.includes(one)), seen.join(' '));
  }
});

test('a block that was found wins over a limit', async () => {
  const deep = await analysePython(`import os\nos.system("x")\ny = ${'1+'.repeat(3_000)}1\n`);
  assert.equal(decision(deep), 'block');
  const long = await analysePython(`import os\nos.system("x")\n${'x = 1\n'.repeat(20_000)}`);
  assert.equal(decision(long), 'block');
  assert.ok(codes(long).includes('limit.bytes'));
  const line = await analysePython(`x = "${'a'.repeat(70_000)}"`);
  assert.deepEqual(codes(line), ['python.always-asked', 'limit.bytes']);
});

test('a script is asked about where no Python is found or it fails', async () => {
  const none = await analysePython('import os\nos.system("x")', { interpreters: ['/no/python'] });
  assert.deepEqual(codes(none), ['python.always-asked', 'python.unavailable']);
  const wrong = await analysePython('import os', { interpreters: ['/bin/true'] });
  assert.deepEqual(codes(wrong), ['python.always-asked', 'python.unread']);
});

test('a busy machine makes no block an ask: the checker is bounded by its own work', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-python-'));
  const slow = path.join(directory, 'python3');
  try {
    // As long as the machine takes, not the checker.
    writeFileSync(slow, '#!/bin/sh\nsleep 2.2\nexec python3 "$@"\n', { mode: 0o755 });
    const analysis = await analysePython('import os\nos.system("x")', { interpreters: [slow] });
    assert.equal(decision(analysis), 'block');
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test('a program that is started by its words is held against the rules of all shells', async () => {
  const start = 'import subprocess\n';
  const blocked: readonly [string, string][] = [
    ['subprocess.run(["git", "push"])', 'deploy.git-push'],
    ['subprocess.check_call(["rm", "-rf", path])', 'fs.rm-rf'],
    ['subprocess.run(["bash", "-c", "npm publish"])', 'publish.npm'],
  ];
  for (const [text, code] of blocked) {
    const { findings } = await analysePython(`${start}${text}\n`);
    const found = findings.find(({ bound }) => bound === 'block');
    assert.deepEqual([found?.code, found?.via[0]], [code, 'subprocess']);
  }
  const { findings, named } = await analysePython(`${start}subprocess.run(["bash", "x.sh"])\n`);
  assert.deepEqual(codes({ findings, allowed: null, named, commands: 0 }), ['python.always-asked']);
  assert.ok(named.some(({ role, name }) => role === 'script' && name === 'x.sh'));
});
