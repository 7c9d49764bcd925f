// Labelled shell commands: what must be blocked, what may run unasked, and what looks like either.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';

interface Case {
  readonly id: string;
  readonly shell: 'bash' | 'powershell' | 'cmd';
  readonly command: string;
  readonly expect: string;
  readonly also_ok?: readonly string[];
}

function cases(file: string): readonly Case[] {
  const text = readFileSync(path.join(import.meta.dirname, 'fixtures/policy', file), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const one: Case = JSON.parse(line);
      return one;
    });
}

function decision({ findings, allowed }: Analysis): string {
  if (findings.some(({ bound }) => bound === 'block')) return 'block';
  return findings.length > 0 || allowed === null ? 'ask' : 'allow';
}

const files = ['shell', 'shell-more', 'outward', 'blind-allow', 'blind-block'];
for (const file of files.map((name) => `${name}.jsonl`)) {
  test(`every labelled command of ${file} is decided as its label says`, () => {
    const wrong = cases(file).flatMap(({ id, shell, command, expect, also_ok: also = [] }) => {
      const decided = decision(
        shell === 'bash' ? analyseShell(command, shell) : analyseWindows(command, shell),
      );
      const right = decided === expect || also.includes(decided);
      return right ? [] : [`${id}: ${expect}, decided ${decided}: ${JSON.stringify(command)}`];
    });
    assert.deepEqual(wrong, []);
  });
}

test('no text is allowed while anything was found in it', () => {
  for (const { command } of cases('shell.jsonl')) {
    const { findings, allowed } = analyseShell(command, 'bash');
    assert.ok(findings.length === 0 || allowed === null, command);
  }
});

test('a finding names a part of the text, and shows no value', () => {
  for (const { command } of cases('shell-more.jsonl')) {
    for (const { span, evidence, why } of analyseShell(command, 'bash').findings) {
      assert.ok(span[0] >= 0 && span[0] <= span[1] && span[1] <= command.length, command);
      assert.ok(evidence.length <= 201 && why !== '', command);
    }
  }
});
