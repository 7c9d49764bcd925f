// Ways out of a workspace that an attacker tries: each one passed the gate before it was closed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { checkPublication, withoutEvidence } from '../src/publish/gate.ts';
import { DeniedIndex, matchDeniedText } from '../src/publish/denied-index.ts';
import { DeniedNames } from '../src/publish/denied-names.ts';
import { tarOf } from './support/archives.ts';

const secret = `fn reconcile_overdraft(ledger: &Ledger, horizon: Span) -> Result<Balance, Fault> {
    let stale = ledger.rows().filter(|row| row.posted_at + horizon < ledger.closing_instant());
    let exposure = stale.map(|row| row.principal * ledger.haircut(row.counterparty)).sum();
    if exposure > ledger.covenant_ceiling() { return Err(Fault::CovenantBreached(exposure)); }
    Ok(Balance { exposure, settled: ledger.settled_between(horizon), memo: "sweep" })
}
`;
const lines = secret.split('\n').slice(1, 4).join('\n');
const oneLine = lines.replaceAll('\n', ' ');
const canary = 'TRL-CANARY-77aa12ffe0';
const known = 'correct-horse-battery-staple';
const index = new DeniedIndex();
index.put('private/reconcile.rs', Buffer.from(secret));
const turn = async (): Promise<void> => {};

const check = (bytes: string | Uint8Array, name = 'out.txt', turned = turn) =>
  checkPublication({
    items: [
      {
        name,
        kind: 'file',
        bytes: Buffer.from(bytes),
        path: name,
        interference: { kind: 'unknown' },
      },
    ],
    match: (text) => matchDeniedText(index, text, turn),
    deniedFile: () => null,
    isDenied: () => false,
    names: new DeniedNames({ paths: ['private/reconcile.rs'] }),
    canaries: [canary],
    findSecrets: (text) => {
      const at = Buffer.from(text).indexOf(known);
      return at < 0 ? [] : [{ name: 'DB', kind: 'known', span: [at, at + known.length], score: 1 }];
    },
    traceKey: Buffer.alloc(32, 7),
    yieldToEventLoop: turned,
  });

const words = (text: string, width: number): string =>
  [
    ...Buffer.from(text)
      .toString('hex')
      .matchAll(new RegExp(`.{1,${width}}`, 'g')),
  ].join(' ');

/** As `od -x` and `hexdump` print it. */
function wordDump(text: string): string {
  const bytes = Buffer.from(text.length % 2 === 0 ? text : `${text} `).swap16();
  const rows = words(bytes.toString('latin1'), 4).match(/.{1,40}/g) ?? [];
  return rows.map((row, i) => `${(i * 16).toString(8).padStart(7, '0')} ${row}`).join('\n');
}

const packed = Buffer.concat([
  Buffer.from('BZh91AY&SY'),
  hash('sha512', 'one', 'buffer'),
  hash('sha512', 'two', 'buffer'),
]);

const attacks: readonly (readonly [string, string | Uint8Array, string, string?])[] = [
  ['a title of a terminal', `\u001b]0;${oneLine}\u0007done\n`, 'denied.content'],
  ['a device control string', `\u001bP${oneLine}\u001b\\done\n`, 'denied.content'],
  ['a text that backspaces go over', `${lines}${'\b'.repeat(400)}done\n`, 'denied.content'],
  ['words of a dump', wordDump(lines), 'denied.content'],
  ['a C array in capitals', words(lines, 2).replaceAll(/(\w\w) ?/g, '0X$1, '), 'denied.content'],
  ['bzip2 in base64', packed.toString('base64'), 'unscannable'],
  ['the name of a file', 'x', 'denied.content', `${oneLine.slice(0, 200)}.txt`],
  [
    'the name of a file, encoded',
    'x',
    'denied.content',
    Buffer.from(oneLine.slice(0, 170)).toString('base64url'),
  ],
  ['a planted text in a name', 'x', 'canary', `${canary}.txt`],
  ['a secret in a name', 'x', 'secret.known', `a/${known}/b`],
  ['a planted text in the name of a member', tarOf([[`a/${canary}/b`, 'x']]), 'canary', 'a.tar'],
  ['a secret in the name of a member', tarOf([[known, 'x']]), 'secret.known', 'a.tar'],
  [
    'a text in names of members, a line each',
    tarOf(oneLine.match(/.{1,90}/g)?.map((line) => [line.replaceAll('/', '_'), 'x']) ?? []),
    'denied.content',
    'a.tar',
  ],
];

for (const [what, bytes, rule, name] of attacks) {
  test(`${what} does not pass`, async () => {
    const verdict = await check(bytes, name);
    const rules: readonly string[] = verdict.findings.map((one) => one.rule);
    assert.ok(rules.includes(rule), `${verdict.decision}: ${rules.join(' ')}`);
    assert.notEqual(verdict.decision, 'pass');
  });
}

test('a binary patch of git does not pass', async (t) => {
  const directory = mkdtempSync(path.join(tmpdir(), 'trl-attack-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], {
      cwd: directory,
      encoding: 'utf8',
    });
  git('init', '--quiet');
  writeFileSync(path.join(directory, 'b.bin'), `\0${lines}`);
  git('add', '.');
  const patch = git('diff', '--cached', '--binary');
  assert.match(patch, /GIT binary patch/);
  const { decision, findings } = await check(patch, 'a.patch');
  assert.equal(decision, 'block');
  assert.ok(findings.some(({ rule }) => rule === 'denied.content'));
});

test('a name that tells is not in the answer', async () => {
  for (const name of [`${canary}.txt`, `a/${known}/b`, `${oneLine.slice(0, 200)}.txt`]) {
    const shown = withoutEvidence(await check('x', name));
    assert.deepEqual([...new Set(shown.findings.map(({ item }) => item))], [null], name);
  }
});

test('overstruck manuals and coloured links are read as they are shown', async () => {
  const bold = Array.from(lines, (char) => `${char}\b${char}`).join('');
  const linked = lines.replaceAll(
    /\b(\w{4,})\b/g,
    '\u001b]8;;https://host.example/some/long/place\u0007$1\u001b]8;;\u0007',
  );
  for (const text of [bold, linked]) assert.equal((await check(text)).decision, 'block');
});

test('others have a turn after every part of an item', async () => {
  let turns = 0;
  const text = '{"a": "b%41&amp;c\\n"}\n'.repeat(20_000);
  await check(text, 'out.txt', async () => {
    turns += 1;
  });
  assert.ok(turns >= 5, `${turns}`);
});
