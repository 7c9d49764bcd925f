// What the publication gate takes for a secret that nobody told it, and what it leaves alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secretFinder } from '../src/daemon/publishing/find-secrets.ts';
import { checkPublication } from '../src/publish/gate.ts';
import { DeniedNames } from '../src/publish/denied-names.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';

const findSecrets = secretFinder(
  {
    options: { profile: 'balanced', thresholds: {}, patterns: [] },
    tags: new RedactionTags(Buffer.alloc(32, 7)),
    index: null,
  },
  async () => {},
);

async function rulesOf(text: string): Promise<readonly string[]> {
  const { findings } = await checkPublication({
    items: [
      {
        name: 'out.txt',
        kind: 'file',
        bytes: Buffer.from(text),
        path: null,
        interference: { kind: 'unknown' },
      },
    ],
    match: () => [],
    deniedFile: () => null,
    isDenied: () => false,
    names: new DeniedNames({ paths: [], words: [], packages: [], visible: [] }),
    canaries: [],
    findSecrets,
    traceKey: Buffer.alloc(32, 7),
    yieldToEventLoop: async () => {},
  });
  return findings.map(({ rule, evidence }) => `${rule} ${evidence.source}`);
}

const signature = 'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c';
const claims = 'eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ';

for (const [what, text] of [
  ['a word for a password', 'schema.safeParse({ password: "peanuts", confirm: 1 });\n'],
  ['a sentence of another script', '{ "pass": "未使用抽象角色", "fail": "使用了抽象角色" }\n'],
  ['object identifiers', "SERVER_AUTH = '1.3.6.1.5.5.7.3.1'\nCLIENT_AUTH = '1.3.6.1.5.5.7.3.2'\n"],
  ['a format', "user_pass = '%s:%s' % (unquote(user), unquote(password))\n"],
  ['a reference of HTML', 'in the form\n<code>{ psk: &#x3C;Buffer|TypedArray> }</code>\n'],
  ['a declaration', 'DEPRECATEDIN_3_0\nSRP_user_pwd *SRP_VBASE_get1_by_user(SRP_VBASE *vb);\n'],
  ['a choice of types', '* `wrappedKey`: {ArrayBuffer|TypedArray|DataView|Buffer}\n'],
  ['the example of jwt.io', `x = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.${claims}.${signature}"\n`],
  [
    'names written backwards',
    ' * xmlSecKeyDataAesId:\n#define xmlSecKeyDataDesGetKlassId\n'.repeat(3),
  ],
] as const) {
  test(`${what} is no reason to hold a file back`, async () => {
    assert.deepEqual(await rulesOf(text), []);
  });
}

for (const [what, text] of [
  ['a password with digits and signs', 'DB_PASSWORD="vR7!mQz2#Lp9x"\n'],
  ['a key beside nothing', 'Drmhze6EPcv0fN81BjnAq7LxT2wKs9Yv\n'],
] as const) {
  test(`${what} is one`, async () => {
    assert.match((await rulesOf(text)).join('\n'), /secret\.likely/);
  });
}
