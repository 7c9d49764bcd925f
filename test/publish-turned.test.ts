// What a simple filter rewrote before it leaves is found as the denied text that it was.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { DeniedFiles } from '../src/daemon/publishing/denied-files.ts';
import { LocalFiles } from '../src/host/local.ts';
import { findObfuscatedTexts } from '../src/publish/decode-obfuscated.ts';
import { decodeItem } from '../src/publish/decode.ts';
import { DeniedIndex, matchDeniedText } from '../src/publish/denied-index.ts';
import { bytePathOf } from '../src/workspace/byte-path.ts';

const secret = `fn reconcile_overdraft(ledger: &Ledger, horizon: Span) -> Result<Balance, Fault> {
    let stale = ledger.rows().filter(|row| row.posted_at + horizon < ledger.closing_instant());
    let exposure = stale.map(|row| row.principal * ledger.haircut(row.counterparty)).sum();
    if exposure > ledger.covenant_ceiling() { return Err(Fault::CovenantBreached(exposure)); }
}
`;
const index = new DeniedIndex();
index.put('private/reconcile.rs', Buffer.from(secret));

async function novelOf(text: string): Promise<number> {
  let most = 0;
  for (const one of decodeItem({ name: 'out.txt', bytes: Buffer.from(text) })) {
    if (one.kind !== 'part' || !one.text) continue;
    const found = await matchDeniedText(index, one.bytes, async () => {});
    for (const { novel } of found) most = Math.max(most, novel);
  }
  return most;
}

const python = (code: string): string =>
  execFileSync(
    'python3',
    ['-c', `import sys,base64,codecs,binascii,html\ns=sys.stdin.read()\n${code}`],
    {
      input: secret,
      encoding: 'utf8',
    },
  );
const uu = String.raw`b=s.encode()
print('begin 644 x')
for i in range(0,len(b),45): print(binascii.b2a_uu(b[i:i+45]).decode(),end='')
print(chr(96)+'\nend')`;

for (const [name, code] of [
  ['upper case', 'print(s.upper())'],
  ['title case', 'print(s.title())'],
  ['_ for spaces', "print(s.replace(' ','_'))"],
  ['- for spaces', "print(s.replace(' ','-'))"],
  ['. for spaces', "print(s.replace(' ','.'))"],
  ['full-width letters', "print(''.join(chr(ord(c)+65248) if c>' ' else c for c in s))"],
  ['bold letters', "print(''.join(chr(ord(c)+119737) if 'a'<=c<='z' else c for c in s))"],
  ['letters of Cyrillic', "print(s.translate(str.maketrans('aeopcx','аеорсх')))"],
  ['letters of Greek', "print(s.translate(str.maketrans('oAvu','οΑνυ')))"],
  ['small capitals', "print(s.translate(str.maketrans('abcdefghilmnoprtu','ᴀʙᴄᴅᴇꜰɢʜɪʟᴍɴᴏᴘʀᴛᴜ')))"],
  ['accents on each letter', String.raw`print('\u0301'.join(s))`],
  ['tags', "print(''.join(chr(0xe0000+ord(c)) if ' '<=c<='~' else c for c in s))"],
  [
    'a span a word',
    "print(' '.join('<span class=k>'+html.escape(w)+'</span>' for w in s.split()))",
  ],
  ['asterisks round words', "print(' '.join('**'+w+'**' for w in s.split()))"],
  ['rot13', "print(codecs.encode(s,'rot13'))"],
  ['rev', String.raw`print('\n'.join(l[::-1] for l in s.split('\n')))`],
  ['the whole text backwards', 'print(s[::-1])'],
  ['base32', 'print(base64.b32encode(s.encode()).decode())'],
  ['base85', 'print(base64.b85encode(s.encode()).decode())'],
  ['Ascii85', 'print(base64.a85encode(s.encode()).decode())'],
  ['uuencode', uu],
] as const) {
  test(`a denied text is found behind ${name}`, async () => {
    assert.ok((await novelOf(python(code))) >= 120);
  });
}

test('a denied text is found behind rot13 and rev between lines that nobody turned', async () => {
  for (const turned of ["codecs.encode(l,'rot13')", 'l[::-1]']) {
    const line = String.raw`${turned}+'\nlet total = rows.len() + 1;'`;
    const code = String.raw`print('\n'.join(${line} for l in s.split('\n')))`;
    assert.ok((await novelOf(python(code))) >= 60);
  }
});

test('text that nobody turned is looked at once', () => {
  const texts = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(path.join('src', name), 'latin1'));
  const length = (all: readonly { readonly length: number }[]): number =>
    all.reduce((sum, one) => sum + one.length, 0);
  const turned = texts.flatMap((text) => [...findObfuscatedTexts(text)].map(({ bytes }) => bytes));
  assert.ok(texts.length > 500);
  assert.ok(length(turned) < 0.05 * length(texts), `${length(turned)} of ${length(texts)}`);
});

test('a text of other words is no denied one, however it is turned', async () => {
  assert.equal(
    await novelOf('the quick brown fox jumps over the lazy dog and rests\n'.repeat(20)),
    0,
  );
});

const cities = ['Aurich', 'Bremervoerde', 'Celle', 'Duderstadt', 'Einbeck', 'Friesoythe'];
const table = [
  'account,holder,limit',
  ...Array.from({ length: 24 }, (_, row) => {
    const holder = `${cities[row % 6]} Holdings ${String.fromCharCode(65 + row)}${row * 37}`;
    return `DE${(row + 3) * 7919}-${row * row * 31},"${holder}, Ltd",${(row + 1) * 1250}`;
  }),
].join('\n');

for (const [column, name] of ['account', 'holder'].entries()) {
  test(`the column "${name}" of a denied table is found by itself`, async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'trl-columns-'));
    try {
      const root = path.join(directory, 'root');
      mkdirSync(root);
      writeFileSync(path.join(root, 'limits.csv'), table);
      const files = await DeniedFiles.open(path.join(directory, 'state'));
      using source = new LocalFiles(directory).open(root);
      await files.update(
        source,
        [{ path: bytePathOf('limits.csv'), key: '', size: table.length }],
        [],
      );
      const cells = table
        .split('\n')
        .slice(1)
        .map((row) => cellsOf(row)[column] ?? '');
      const found = await files.match(Buffer.from(cells.join('\n')), async () => {});
      const [most] = found;
      assert.ok((most?.novel ?? 0) >= 120);
      assert.deepEqual([most?.path, most?.lines[1]], ['limits.csv', 25]);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
}

function cellsOf(row: string): string[] {
  return row.split(/,(?! )/).map((cell) => cell.replaceAll('"', ''));
}
