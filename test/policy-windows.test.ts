// PowerShell and cmd as text: what is refused, what is allowed, and that neither can be hidden.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import * as z from 'zod/mini';
import type { Analysis } from '../src/policy/analysis.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';

const Row = z.object({
  id: z.string(),
  shell: z.enum(['powershell', 'cmd']),
  command: z.string(),
  expect: z.enum(['allow', 'ask', 'block']),
  why: z.string(),
});
const rows = readFileSync(path.join(import.meta.dirname, 'fixtures/policy/windows.jsonl'), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => Row.parse(JSON.parse(line)));

const ranks = ['allow', 'ask', 'block'] as const;

function decision({ findings, allowed }: Analysis): (typeof ranks)[number] {
  if (findings.some(({ bound }) => bound === 'block')) return 'block';
  return findings.length > 0 || allowed === null ? 'ask' : 'allow';
}
const rank = (analysis: Analysis): number => ranks.indexOf(decision(analysis));
const codes = ({ findings }: Analysis): string[] => findings.map(({ code }) => code);

test('every command of the fixture is decided as it is labelled', () => {
  assert.ok(rows.length >= 120);
  const wrong = rows.flatMap(({ id, shell, command, expect, why }) => {
    const analysis = analyseWindows(command, shell);
    const got = decision(analysis);
    return got === expect ? [] : [`${id} ${command} (${why}): ${got} ${codes(analysis).join(' ')}`];
  });
  assert.deepEqual(wrong, []);
});

test('an allowed reader names its file and the words that run', () => {
  const { allowed } = analyseWindows('Get-Content -Path "docs\\my notes.md" -Tail 3', 'powershell');
  assert.deepEqual(allowed, {
    rule: 'powershell.get-content',
    argv: ['get-content', '-Path', 'docs\\my notes.md', '-Tail', '3'],
    run: { argv: ['get-content', '-Path', 'docs\\my notes.md', '-Tail', '3'], unset: [], set: {} },
    files: ['docs/my notes.md'],
    packageScript: null,
    runsRepositoryCode: false,
  });
  const script = analyseWindows('npm run build', 'cmd').allowed;
  assert.equal(script?.packageScript, 'build');
});

test('a finding names its place in the text and the way to it', () => {
  const text = 'echo \u{1f600} & powershell -c "Get-Date; rm -r -fo x"';
  const { findings } = analyseWindows(text, 'cmd');
  const found = findings.find(({ bound }) => bound === 'block');
  assert.equal(text.slice(...(found?.span ?? [0, 0])), '"Get-Date; rm -r -fo x"');
  assert.deepEqual(
    { ...found, span: null },
    {
      code: 'fs.rm-rf',
      bound: 'block',
      span: null,
      via: ['powershell -Command'],
      evidence: 'rm -r -fo x',
      why: 'deletes a tree by force',
      instead: 'Delete the files that are meant by name.',
    },
  );
  const plain = 'Get-Date; Stop-Computer # now';
  const [first] = analyseWindows(plain, 'powershell').findings;
  assert.equal(plain.slice(...(first?.span ?? [0, 0])), 'Stop-Computer');
});

const commands = fc.constantFrom(...rows);

test('one more statement never lowers a decision', () => {
  fc.assert(
    fc.property(commands, fc.boolean(), ({ shell, command }, before) => {
      const alone = rank(analyseWindows(command, shell));
      // What is unfinished or a comment swallows what follows; what comes before it does not.
      const other = shell === 'cmd' ? 'echo a' : 'Get-Date';
      const joined = before ? `${other}\n${command}` : `${command}\n${other}`;
      const unclear = /unfinished|continued/.test(command) || /[`^|]$/.test(command);
      assert.ok(unclear || rank(analyseWindows(joined, shell)) >= Math.max(alone, 1), joined);
    }),
    { numRuns: 400 },
  );
});

test('wrapping never lowers a decision', () => {
  const wraps: Readonly<Record<'powershell' | 'cmd', readonly ((text: string) => string)[]>> = {
    powershell: [
      (text) => `if ($true) {\n${text}\n}`,
      (text) => `Write-Output $(\n${text}\n)`,
      (text) => `1..2 | ForEach-Object {\n${text}\n}`,
      (text) => `powershell -NoProfile -Command '${text.replaceAll("'", "''")}'`,
    ],
    cmd: [
      (text) => `(\n${text}\n)`,
      (text) => `if exist x (\n${text}\n) else (dir)`,
      (text) => `cmd /d /c "${text}"`,
    ],
  };
  for (const { shell, command, expect } of rows) {
    if (/unfinished|\n|\(\(\(/.test(command) || /^(?:rem|::|:)/.test(command)) continue;
    for (const wrap of wraps[shell]) {
      const wrapped = wrap(command);
      // Odd quotes inside `cmd /c "…"` end it early; that is another text.
      if (expect !== 'block' && shell === 'cmd') continue;
      const got = rank(analyseWindows(wrapped, shell));
      assert.ok(got >= Math.max(ranks.indexOf(expect), 1), `${wrapped}: ${ranks[got]}`);
    }
  }
});

test('words that are data never block', () => {
  const words = rows.filter(({ expect }) => expect === 'block').map(({ command }) => command);
  for (const word of words.filter((text) => !/[\r\n]/.test(text))) {
    const single = `'${word.replaceAll(/['‘’‚‛]/g, '$&$&')}'`;
    for (const text of [`Write-Output ${single}`, `git commit -m ${single}`, `# ${word}`]) {
      assert.notEqual(decision(analyseWindows(text, 'powershell')), 'block', text);
    }
    assert.notEqual(decision(analyseWindows(`rem ${word}`, 'cmd')), 'block', word);
    if (/["%!]/.test(word)) continue;
    for (const text of [`echo "${word}"`, `git commit -m "${word}"`]) {
      assert.notEqual(decision(analyseWindows(text, 'cmd')), 'block', text);
    }
  }
});

test('no text makes it fail, and none is allowed that has an operator or a variable', () => {
  const parts =
    'rm iex git status ; | & ( ) { } [ ] " \' ` ^ $ % ! @ # <# #> -r /s , = :: $( ${ --%';
  const others = [
    ' ',
    '\n',
    "@'\n",
    '$env:API_KEY',
    '%API_KEY%',
    '\u2019',
    '\u00a0',
    '\ud800',
    '\0',
  ];
  const letters = fc.constantFrom(...parts.split(' '), ...others);
  fc.assert(
    fc.property(fc.array(letters, { maxLength: 40 }), fc.boolean(), (pieces, cmd) => {
      const text = pieces.join('');
      const analysis = analyseWindows(text, cmd ? 'cmd' : 'powershell');
      for (const { span } of analysis.findings) {
        assert.ok(span[0] >= 0 && span[0] <= span[1] && span[1] <= text.length + 1, text);
      }
      if (decision(analysis) === 'allow') assert.doesNotMatch(text, /[;|&{}$%`^<>\0]/);
    }),
    { numRuns: 3_000 },
  );
});

test('a limit that is met inside another command is told', () => {
  for (const [text, shell, limit] of [
    [`powershell -c "${'a;'.repeat(5_000)}"`, 'powershell', 'limit.commands'],
    [`cmd /c "${'a&'.repeat(5_000)}"`, 'cmd', 'limit.commands'],
    [`powershell -c "${'('.repeat(5_000)}"`, 'powershell', 'limit.nesting'],
  ] as const) {
    const found = codes(analyseWindows(text, shell));
    const isLate = found.includes('limit.time');
    assert.ok(isLate || found.includes(limit), `${text.slice(0, 40)}: ${found.join(' ')}`);
  }
});

test('a block that was found wins over every limit', () => {
  const cases: readonly (readonly [string, 'powershell' | 'cmd', string])[] = [
    [`${'('.repeat(5_000)}iex x`, 'powershell', 'limit.nesting'],
    [`${'{'.repeat(5_000)}iex x`, 'powershell', 'limit.nesting'],
    [`${'$('.repeat(5_000)}iex x`, 'powershell', 'limit.nesting'],
    ['"$('.repeat(5_000), 'powershell', 'limit.nesting'],
    [`${'('.repeat(5_000)}rd /s x`, 'cmd', 'limit.nesting'],
    [`iex x\n${'a;'.repeat(5_000)}`, 'powershell', 'limit.commands'],
    [`rd /s x\n${'a&'.repeat(5_000)}`, 'cmd', 'limit.commands'],
    [`iex x\n${'a'.repeat(70_000)}`, 'powershell', 'limit.bytes'],
    [`rd /s x\n${'a'.repeat(70_000)}`, 'cmd', 'limit.bytes'],
    [`${'cmd /c '.repeat(40)}rd /s x`, 'cmd', 'limit.nesting'],
  ];
  for (const [text, shell, limit] of cases) {
    const analysis = analyseWindows(text, shell);
    // On a machine that is busy enough the time is over first.
    const late = codes(analysis).includes('limit.time');
    assert.ok(
      late || codes(analysis).includes(limit),
      `${text.slice(0, 40)}: ${codes(analysis).join(' ')}`,
    );
    const found = /iex|\(rd|^rd/.test(text);
    if (!late) assert.equal(decision(analysis) === 'block', found, text.slice(0, 40));
    assert.notEqual(decision(analysis), 'allow', text.slice(0, 40));
  }
});

test('nested brackets are judged once each: sixty of them end, and are asked about', () => {
  for (const text of ['N' + '('.repeat(60), 'N' + '(x '.repeat(60), '$('.repeat(60)]) {
    const { findings } = analyseWindows(text, 'powershell');
    assert.ok(findings.length > 0, text.slice(0, 8));
  }
});
