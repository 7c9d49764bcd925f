// What a simple filter rewrote before it leaves is found as the denied text that it was.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { openItem } from '../src/publish/decode.ts';
import { DeniedIndex, matchText } from '../src/publish/index.ts';

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
  for (const one of openItem({ name: 'out.txt', bytes: Buffer.from(text) })) {
    if (one.kind !== 'part' || !one.text) continue;
    const found = await matchText(index, one.bytes, async () => {});
    for (const { novel } of found) most = Math.max(most, novel);
  }
  return most;
}

const python = (code: string): string =>
  execFileSync(
    'python3',
    ['-c', `import sys,base64,codecs,binascii\ns=sys.stdin.read()\n${code}`],
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

test('a text of other words is no denied one, however it is turned', async () => {
  assert.equal(
    await novelOf('the quick brown fox jumps over the lazy dog and rests\n'.repeat(20)),
    0,
  );
});
