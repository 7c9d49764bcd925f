// What must stay readable is told by its form and by what stands beside it. Tokens are drawn here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { strengthOf, type BenignFamily } from '../src/redaction/recognise/families.ts';
import { recogniseToken } from '../src/redaction/recognise/recognise-token.ts';
import { draw, seeded } from './support/redaction-draw.ts';

/** The family of the part of `marked` that stands between « and », drawn from its notation. */
function familyOf(marked: string, random = seeded(7)): BenignFamily | null {
  const notation = /«(.*)»/s.exec(marked)?.[1] ?? '';
  const head = marked.slice(0, marked.indexOf('«'));
  const tail = marked.slice(marked.indexOf('»') + 1);
  const token =
    /[{(]/.test(notation) && !/[$%]\{/.test(notation) ? draw(notation, random).text : notation;
  const text = `before\n${head}${token}${tail}\nafter`;
  const start = 7 + head.length;
  const line = { start: 7, end: text.length - 6 };
  return recogniseToken(text, start, start + token.length, line);
}

const cases: readonly (readonly [BenignFamily | null, readonly string[]])[] = [
  ['digest-list', ['«{h64}»  /usr/bin/mvn', '«{h32}» *file', 'MD5 (a) = «{h32}»']],
  [
    'digest-labelled',
    [
      'digest: «{h64}»',
      '< cf-ray: «{h16}»-FRA',
      'checksum = "«{h64}»"',
      '"commitSha":"«{h40}»"',
      'trace_id=«{h32}»',
    ],
  ],
  ['digest-prefixed', ['image@sha256:«{h64}»', 'sha1-«{h40}»', '--hash=«sha256:{h64}»']],
  [
    'git-object',
    ['commit «{h40}»', 'reset to «{h40}» now', 'a..«{h40}»', '«{h7}..{h7}»', 'merge «{h12}»'],
  ],
  [
    'git-line',
    ['«{h40}»\trefs/heads/main', ':100644 100644 «{h7}» 1a2b3c4 M\ta', '«{h40}» commit\trefs/x'],
  ],
  ['integrity', ['"integrity": "«sha512-{b86}==»"', 'integrity sha512-«{b86}==»']],
  ['go-sum', ['golang.org/x/net v0.1.0 h1:«{b43}=»', 'golang.org/x/net v0.1.0 «h1:{b43}=»']],
  ['header-id', ['< x-amz-id-2: «{b60}=»', 'ETag: W/"«{s20}»"', 'x-request-id: «{s22}»']],
  [
    'labelled-id',
    [
      '"invocationId": "«{w22}»"',
      'nextToken: «{e60}»',
      'cursor=«{b22}»',
      'finished job «{w26}» in 3 s',
    ],
  ],
  ['arn', ['«arn:aws:lambda:us-east-1:{d12}:function:cart»', 'arn:aws:iam::{d12}:role/«{w20}»']],
  ['cloud-id', ['vpc «subnet-{h17}»']],
  ['mangled-symbol', ['T «_ZNKSt7__cxx1112basic_stringIcE»', '«core::ops::call_once::h{h16}»']],
  ['hex-dump', ['00000320: 642d 6c69 «{h4}» 782d  d-li', '00000d00  32 36 00 47 «{h8}» |26.G|']],
  ['certificate', ['«MII{b3}CCAb+gAwIBAgI{b40}»']],
  [
    'public-key',
    [
      'ssh-ed25519 «AAAAC3NzaC1lZDI1NTE5AAAAI{b43}» me@host',
      // The kind of key before it explains any other text, too.
      'ssh-rsa «{b60}» me@host',
      'ecdsa-sha2-nistp256 «{b60}» me@host',
      'sk-ssh-ed25519@openssh.com «{b60}» me@host',
    ],
  ],
  ['key-fingerprint', ['256 SHA256:«{b43}» me@host (ED25519)', '256 «SHA256:{b43}» me@host']],
  ['data-uri', ['url(data:image/png;base64,«{b60}»)']],
  ['media-bytes', ['"logo": "«iVBORw0KGgoAAAA{b60}»"']],
  ['source-map', ['"mappings":"AAAA,«{b8}»;AACA"']],
  ['hashed-file-name', ['asset «index-{w8}.js» 3 KiB', 'chunk.«{h20}».css', 'fonts/«{h20}.woff2»']],
  ['pod-name', ['prod «web-api-7d4b9c6f5d-x2k9p» 1/1', 'prod «mail-export-d5fgxklwb-sbrf4»']],
  ['package', ['unpacked «libfile-fcntllock-perl:amd64»']],
  ['version', ['upgrade «1:2.66-4+deb12u1» now', '«v1.24.3-14-g2414721»']],
  ['timestamp', ['at «2026-08-16T01:27:29.713Z»']],
  ['mac-address', ['link «52:54:00:1b:2c:3d»']],
  ['ip-address', ['inet6 «fe80::5054:ff:fe1b:2c3d/64»', 'to «10.0.62.74:8080»']],
  ['number', ['took «1763782612345»']],
  ['address', ['=> libz.so (0x«{h16}»)', '(«0x{h16}»)']],
  ['path', ['«/usr/lib/node_modules/npm/lib/index»', 'in «src/redaction/detect/names»']],
  ['identifier', ['«getResolvedPackageVersion2»', 'run «max_connections_per_host»']],
  ['uuid', ['id «{U}»', 'session «{U}»']],
  ['ulid', ['row «01ARZ3NDEKTSV4RRFFQ69G5FAV»']],
  ['hex-digest', ['API_TOKEN=«{h40}»', 'value «{h64}»', '«{X32}»']],
  ['hex-id', ['value «{h24}»', '«worker-node-a138f663»']],
  ['base64-line', ['«{b64}»']],
  [
    'placeholder',
    ['key: «your-api-key-here»', '<«API_TOKEN»>', '«xxxxxxxx-xxxx»', '«AKIAIOSFODNN7EXAMPLE»'],
  ],
  ['reference', ['${«GITHUB_TOKEN»}', 'password: «$DB_PASSWORD»', '$(«cat_file»)']],
  ['hidden', ['[«HIDDEN:8f2a1b»]']],
  [
    null,
    [
      'API_KEY=«{w40}»',
      'token: «{s43}»',
      '«{w32}»',
      '"client_secret": "«{b44}»"',
      'key «ghp_{w36}»',
    ],
  ],
  [null, ['access_key_id = «AKIA{u16}»', 'session_id=«{w32}»', 'https://x:«{s30}»@host']],
];

test('each family is told by its form and its place', () => {
  const told = cases.flatMap(([, lines]) => lines.map((line) => [line, familyOf(line)]));
  const meant = cases.flatMap(([family, lines]) => lines.map((line) => [line, family]));
  assert.deepEqual(told, meant);
});

test('what a label explains is certain, what only looks like a hash is not', () => {
  assert.equal(strengthOf(familyOf('commit «{h40}»') ?? 'uuid'), 'certain');
  assert.equal(strengthOf(familyOf('API_TOKEN=«{h40}»') ?? 'number'), 'usual');
  assert.equal(strengthOf('uuid'), 'usual');
});

test('keys drawn at random are not explained, whatever they are made of', () => {
  const random = seeded(11);
  let explained = 0;
  const notations = [
    '{w20}',
    '{w32}',
    '{w40}',
    '{s43}',
    '{b44}',
    '{l32}',
    '{l24}',
    'sk_live_{w24}',
  ];
  for (let at = 0; at < 4000; at += 1) {
    const notation = notations[at % notations.length] ?? '';
    if (familyOf(`API_KEY=«${notation}»`, random) !== null) explained += 1;
  }
  assert.ok(explained <= 20, `${explained} of 4000`);
});

test('nothing beyond the line is looked at, and hostile tokens are done', () => {
  const token = draw('{h40}', seeded(3)).text;
  const text = `commit\n${token}\nsha256`;
  assert.equal(recogniseToken(text, 7, 47, { start: 7, end: 47 }), 'hex-digest');
  for (const piece of ['a=', '/a', 'a-', 'A1', '0:', '..', '::h', 'eyJ', '_Z', 'sha1:', 'x']) {
    const hostile = piece.repeat(4096 / piece.length);
    assert.notEqual(recogniseToken(hostile, 0, hostile.length, { start: 0, end: 4096 }), undefined);
  }
});
