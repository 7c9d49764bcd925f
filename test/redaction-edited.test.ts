// What is found in texts that are edited by chance is what was found before: for each text a line,
// with how much was found in all its edits.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Detector } from '../src/redaction/detect/detector.ts';
import type { KnownValue } from '../src/redacted.ts';
import type { MaskedChunk } from '../src/redaction/secret-finding.ts';
import { KnownIndex } from '../src/redaction/known/known-index.ts';
import { findLoginPasswords } from '../src/redaction/known/logins.ts';
import { KnownMasker } from '../src/redaction/known/known-masker.ts';
import { WeakValues } from '../src/redaction/known/weak-values.ts';
import { makeMaskers, openRedactor } from '../src/redaction/open-redactor.ts';
import { recogniseToken } from '../src/redaction/recognise/recognise-token.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { edited } from './support/edits.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';
import { seeded } from './support/redaction-draw.ts';
import { frames } from './support/secret-frames.ts';
import { applied, transforms } from './support/transforms.ts';

interface Text {
  readonly id: string;
  readonly text: string;
}

const fixtures = path.join(import.meta.dirname, 'fixtures/secrets');
const texts = ['lines', 'secrets-positives', 'secrets-negatives', 'clean-output'].flatMap((name) =>
  readFileSync(path.join(fixtures, `${name}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Text => JSON.parse(line)),
);
const all = texts.map(({ text }) => text);

/** Each with what `look` answers of its edits. */
function linesOf(count: number, look: (text: string) => readonly unknown[]): string[] {
  return texts.map(({ id, text }, at) => {
    const random = seeded(at);
    const found = Array.from({ length: count }, () => look(edited(text, random, all)));
    return `${id}\t${found.flat().length}\t${fingerprint(found)}`;
  });
}

test('what looks like a secret is found as before, however a text is edited', () => {
  const look = (profile: 'strict' | 'balanced' | 'lenient') => (text: string) =>
    new Detector({ profile, prior: 'none' })
      .scan(text, Buffer.from(text, 'latin1'))
      .map((one) => ({ ...one, score: one.score.toFixed(6) }));
  const lines = [...linesOf(24, look('balanced')), ...linesOf(8, look('strict'))];
  assertRecorded('secrets/edited.tsv', [...lines, ...linesOf(8, look('lenient'))], 6);
});

test('what is no secret is recognised as before, however a text is edited', () => {
  const look = (text: string): unknown[] =>
    Array.from(text.matchAll(/[\w+/=.:-]{8,}/g), ({ 0: token, index }) => {
      const begin = text.lastIndexOf('\n', index) + 1;
      const end = `${text}\n`.indexOf('\n', index);
      return recogniseToken(text, index, index + token.length, { start: begin, end });
    }).filter((family) => family !== null);
  assertRecorded('secrets/edited-recognised.tsv', linesOf(24, look), 4);
});

const known = (value: string, at: number): KnownValue => ({
  name: ['API_KEY', 'DB_PASSWORD', 'TOKEN'][at % 3] ?? '',
  value,
  tag: '[HIDDEN:abc123]',
});
const values = [
  'ghp_9fKq2LxWv7RbT0cYzN4mJhU6sDaE1PgVtXoQ',
  'Hq4+Tz/9vLk2+Xw8Rb1/Nc6Ys3==',
  'Tr0ub4dor&3!',
  "it's-8#Zq4",
  'pässwörd-Zq7',
  'correct horse battery staple',
  '12345678',
  'line one\nline two 7Gx',
];

function masked(index: KnownIndex, bytes: Uint8Array): readonly MaskedChunk[] {
  const masker = new KnownMasker(index);
  const half = bytes.length >> 1;
  const first = [...masker.push(bytes.subarray(0, half)), ...masker.flush()];
  return [...first, ...masker.push(bytes.subarray(half)), ...masker.end()];
}

test('a known value is hidden as before, in whatever form, however that is edited', () => {
  const lines = transforms.flatMap((transform) =>
    values.map((value, at) => {
      const index = new KnownIndex([known(value, at)]);
      const { bytes } = applied(transform, value);
      const whole = Buffer.from(bytes).toString('latin1');
      const random = seeded(at);
      const made = Array.from({ length: 5 }, () => edited(whole, random, all));
      const pieces = [whole, `a ${whole}\n`, ...made].map((text) =>
        masked(index, Buffer.from(text, 'latin1')).map((piece) =>
          piece.kind === 'text' ? Buffer.from(piece.bytes).toString('latin1') : piece,
        ),
      );
      const hidden = pieces.flat().filter((piece) => typeof piece !== 'string').length;
      return `${transform.name}\t${at}\t${hidden}\t${fingerprint(pieces)}`;
    }),
  );
  assertRecorded('secrets/edited-known.tsv', lines, 2);
});

const programs = [
  'curl http https xh mysql mysqladmin mysqldump mysqlimport mysqlcheck mysqlshow mariadb',
  'mariadb-dump sshpass docker podman nerdctl helm oras skopeo buildah crane redis-cli valkey-cli',
  'ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami openssl 7z 7za 7zz 7zr zip',
  'unzip htpasswd smbclient rpcclient net sqlplus rman expdp impdp sqlcl mongo mongosh mongodump',
  'mongorestore mongoexport mongoimport sqlcmd bcp ssh-keygen rabbitmqctl vault ipmitool lftp',
  'cadaver xfreerdp wget psql pg_dump ftp ssh scp gpg kinit passwd chpasswd az aws gh npm',
].flatMap((line) => line.split(' '));
const ways = [
  '-p V|-pV|-P V|-a V|--auth u:V|-w V|-s V|-k V|-u u:V|--user=u:V|-U u%V|login V|login -p V h',
  '-bc f u V|u/V@h|-passin pass:V|add_user u V|--creds u:V|-x V|/p:V|-N V|--pass V|-vu "u:V" h',
].flatMap((line) => line.split('|'));

test('a weak value is hidden where a login says so, as before', () => {
  const lines = programs.flatMap((program) =>
    ways.map((way) => `${program} ${way.replace('V', 'postgres')} x`),
  );
  const places = frames.flatMap((frame) =>
    ['DB_PASSWORD', 'user', 'token'].map((name) =>
      frame.replaceAll('NAME', name).replaceAll('VALUE', 'postgres'),
    ),
  );
  const weak = new WeakValues(['postgres', '1234', 'a b'].map(known));
  const random = seeded(9);
  const told = [...lines, ...places].map((text) => {
    const found = [findLoginPasswords(text.replaceAll('\n', ' ')), weak.find(text)];
    const more = Array.from({ length: 6 }, () => weak.find(edited(text, random, lines)));
    return `${JSON.stringify(text)}\t${found.flat().length}\t${fingerprint([found, more])}`;
  });
  assertRecorded('secrets/edited-weak.tsv', told, 8);
});

/** Long lines and short ones, with secrets anywhere: pieces end in them and beside them. */
function longText(random: () => number, isDense: boolean): string {
  const parts: string[] = [];
  while (parts.join('').length < 30_000) {
    const one = all[Math.floor(random() * all.length)] ?? '';
    if (isDense) {
      parts.push(one.replaceAll('\n', ' '), ' ');
      continue;
    }
    const size = Math.floor(random() ** 4 * 12_000);
    const filler = random() < 0.5 ? 'lorem ipsum, ' : 'x';
    parts.push(filler.repeat(Math.ceil(size / filler.length)).slice(0, size));
    parts.push(random() < 0.3 ? (values[Math.floor(random() * 4)] ?? '') : one);
    if (random() < 0.4) parts.push('\n');
  }
  return parts.join('');
}

test('a stream gives out the same as before, wherever its pieces end', () => {
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const lines = Array.from({ length: 32 }, (_, at) => {
    const random = seeded(at);
    const bytes = Buffer.from(longText(random, at % 2 === 1), 'utf8');
    const told: unknown[] = [];
    const redactor = openRedactor({
      options,
      prior: 'none',
      index: new KnownIndex(values.slice(0, 4).map(known)),
      tags: new RedactionTags(Buffer.alloc(32, 7)),
      onRedaction: (one) => told.push(one),
    });
    const later = makeMaskers(new KnownIndex(values.slice(4, 6).map(known)));
    const out: Uint8Array[] = [];
    for (let from = 0; from < bytes.length;) {
      const to = from + 1 + Math.floor(random() ** 3 * 9_000);
      out.push(redactor.push(bytes.subarray(from, to)));
      from = to;
      if (random() < 0.1) out.push(redactor.flush(random() < 0.5 ? 'all' : 'whole'));
      if (random() < 0.02) redactor.learn(later);
      told.push(redactor.hasPending);
    }
    out.push(redactor.end());
    const text = Buffer.concat(out).toString('latin1');
    const places = JSON.stringify(told, (key, value) => (key === 'score' ? undefined : value));
    return `${at}\t${text.length}\t${redactor.forcedFlushes}\t${fingerprint([text, places])}`;
  });
  assertRecorded('secrets/edited-stream.tsv', lines);
});
