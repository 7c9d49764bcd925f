// Unified diffs of changes: `git apply` makes the new tree of the old one with them.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { Change, Difference, Entry } from '../src/change.ts';
import { redactDiff } from '../src/daemon/diffs/diff-redaction.ts';
import { Masking } from '../src/daemon/secrets/masking.ts';
import { createUnifiedDiff } from '../src/daemon/diffs/unified-diff.ts';
import { limits } from '../src/limits.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';

let dir: string;
before(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trl-diff-'));
});
after(() => rmSync(dir, { recursive: true, force: true }));

/** A small store of contents. */
class Kept {
  readonly #all = new Map<string, Buffer>();
  file(content: string | Buffer, mode = 0o644): Entry {
    const bytes = Buffer.from(content);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.#all.set(sha256, bytes);
    return { type: 'file', mode, size: bytes.length, mtimeMs: 0, sha256 };
  }
  read(sha256: string): Promise<Buffer | null> {
    return Promise.resolve(this.#all.get(sha256) ?? null);
  }
}

const latin1 = (name: string): string => Buffer.from(name).toString('latin1');
const link = (target: string): Entry => ({ type: 'symlink', target: latin1(target) });

function change(
  name: string,
  kind: Difference['kind'],
  pair: readonly [Entry | null, Entry | null],
): Change {
  const [old, now] = pair;
  const rest = { marks: [], state: 'applied', reason: null, concurrentWith: [] } as const;
  return { path: latin1(name), kind, before: old, after: now, ...rest };
}

const textOf = async (changes: readonly Change[], kept: Kept, context = 3): Promise<string> => {
  const { sections } = await createUnifiedDiff(changes, kept, { context });
  return Buffer.concat(sections.map(({ text }) => text)).toString('utf8');
};

/** Everything below `root`: what `git apply` made. */
function contentOf(root: string): Record<string, string> {
  const names = readdirSync(root, { recursive: true }).map(String);
  const found = names.flatMap((name): [string, string][] => {
    const file = path.join(root, name);
    const stat = lstatSync(file);
    if (stat.isSymbolicLink()) return [[name, `-> ${readlinkSync(file)}`]];
    if (!stat.isFile()) return [];
    const runs = (stat.mode & 0o100) === 0 ? '' : 'x ';
    return [[name, `${runs}${readFileSync(file, 'latin1')}`]];
  });
  return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function put(root: string, name: string, content: string | Buffer | { link: string }): void {
  const file = path.join(root, name);
  mkdirSync(path.dirname(file), { recursive: true });
  if (typeof content === 'object' && 'link' in content) symlinkSync(content.link, file);
  else writeFileSync(file, content);
}

function gitApply(root: string, diff: Buffer | string, more: readonly string[] = []): void {
  const args = ['apply', '--whitespace=nowarn', ...more, '-'];
  // Outside any repository: nothing but the files decides.
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: path.dirname(root) };
  const ran = spawnSync('git', args, { cwd: root, input: diff, env, encoding: 'utf8' });
  assert.equal(ran.status, 0, `${ran.stderr}\n${String(diff)}`);
}

let count = 0;
const fresh = (): string => {
  const root = path.join(dir, String((count += 1)));
  mkdirSync(root);
  return root;
};

test('git apply makes new files, links, modes and deletions of a diff', async () => {
  const kept = new Kept();
  const root = fresh();
  put(root, 'changed.txt', 'one\ntwo\nthree\n');
  put(root, 'gone dir/gone file.txt', 'bye\n');
  put(root, 'run.sh', '#!/bin/sh\n');
  put(root, 'link', { link: 'changed.txt' });
  put(root, 'was-link', { link: 'x' });
  put(root, 'naïve "quoted"\\\t.txt', 'ä\n');
  put(root, 'empty-gone', '');
  const changes = [
    change('changed.txt', 'modified', [
      kept.file('one\ntwo\nthree\n'),
      kept.file('one\n2\nthree\nfour'),
    ]),
    change('gone dir/gone file.txt', 'deleted', [kept.file('bye\n'), null]),
    change('run.sh', 'mode', [kept.file('#!/bin/sh\n'), kept.file('#!/bin/sh\n', 0o755)]),
    change('link', 'symlink', [link('changed.txt'), link('run.sh')]),
    change('was-link', 'type', [link('x'), kept.file('now a file\n')]),
    change('naïve "quoted"\\\t.txt', 'modified', [kept.file('ä\n'), kept.file('ö\n')]),
    change('new with blanks .txt', 'added', [null, kept.file('a\n')]),
    change('sub/new-link', 'added', [null, link('../run.sh')]),
    change('empty-new', 'added', [null, kept.file('')]),
    change('empty-gone', 'deleted', [kept.file(''), null]),
    change('sub', 'added', [null, { type: 'directory', mode: 0o755 }]),
  ];
  gitApply(root, await textOf(changes, kept));
  assert.deepEqual(contentOf(root), {
    'changed.txt': 'one\n2\nthree\nfour',
    'empty-new': '',
    link: '-> run.sh',
    'naïve "quoted"\\\t.txt': latin1('ö\n'),
    'new with blanks .txt': 'a\n',
    'run.sh': 'x #!/bin/sh\n',
    'sub/new-link': '-> ../run.sh',
    'was-link': 'now a file\n',
  });
});

test('a name that is no UTF-8 is quoted as git does', async () => {
  const kept = new Kept();
  const odd: Change = {
    ...change('', 'added', [null, kept.file('x\n')]),
    path: 'caf\u00e9\u0001.txt',
  };
  const text = await textOf([odd], kept);
  assert.match(text, /^diff --git "a\/caf\\351\\001\.txt" "b\/caf\\351\\001\.txt"\n/);
  const root = fresh();
  gitApply(root, text);
  const [name] = readdirSync(root, { encoding: 'buffer' });
  assert.equal(name?.toString('latin1'), 'caf\u00e9\u0001.txt');
});

test('what git has no words for is a comment, and the rest still applies', async () => {
  const kept = new Kept();
  const fifo = { type: 'fifo', mode: 0o644 } as const;
  const private_ = kept.file('same\n', 0o600);
  const unread: Entry = { type: 'file', mode: 0o644, size: 4, mtimeMs: 0, sha256: null };
  const changes = [
    change('pipe', 'special', [null, fifo]),
    change('private', 'mode', [kept.file('same\n'), private_]),
    change('touched', 'metadata-only', [kept.file('same\n'), kept.file('same\n')]),
    change('new', 'added', [null, kept.file('text\n')]),
  ];
  const text = await textOf(changes, kept);
  assert.match(text, /^# pipe: is a fifo$/m);
  assert.match(text, /^# private: mode 0644 -> 0600$/m);
  assert.doesNotMatch(text, /touched/);
  const root = fresh();
  gitApply(root, text);
  assert.deepEqual(contentOf(root), { new: 'text\n' });
  const lost = await textOf([change('x', 'modified', [unread, kept.file('b\n')])], kept);
  assert.match(lost, /^# x: the old content was not kept$/m);
});

test('binary files and files beyond the bounds are named, never printed', async () => {
  const kept = new Kept();
  const large = 'line\n'.repeat(limits.diffFileBytes.default / 5 + 1);
  const { sections, truncated } = await createUnifiedDiff(
    [
      change('a.bin', 'modified', [kept.file('a\0b'), kept.file('a\0c')]),
      change('large', 'added', [null, kept.file(large)]),
      change('long', 'added', [null, kept.file('x'.repeat(limits.diffBytes.default))]),
      change('after', 'added', [null, kept.file('fine\n')]),
    ],
    kept,
  );
  assert.equal(truncated, true);
  const [binary, named, long, fine] = sections.map(({ text }) => text.toString());
  assert.match(binary ?? '', /Binary files a\/a\.bin and b\/a\.bin differ\n$/);
  assert.deepEqual(sections[0]?.added, null);
  assert.match(named ?? '', /# large: too large to show\n$/);
  assert.match(long ?? '', /# long: left out: the diff is too large\n$/);
  assert.match(fine ?? '', /\+fine\n$/);
});

const someLines = fc
  .array(fc.constantFrom('a\n', 'b\n', 'c\n', '\n', 'd d\n', '@@\n', '-- x\n', 'é\n'), {
    maxLength: 60,
  })
  .chain((all) => fc.constantFrom('', 'end', '\\').map((end) => all.join('') + end));
const edited = fc.tuple(
  someLines,
  fc.array(fc.tuple(fc.nat(400), fc.nat(30), someLines), { maxLength: 4 }),
);

test('git apply makes any text of any other with the diff of both', async () => {
  let root = '';
  await fc.assert(
    fc.asyncProperty(edited, fc.constantFrom(0, 1, 3, 10), async ([old, edits], context) => {
      const now = edits.reduce((text, [at, length, put_]) => {
        const from = Math.min(at, text.length);
        return text.slice(0, from) + put_ + text.slice(from + length);
      }, old);
      root = fresh();
      put(root, 'f', old);
      const kept = new Kept();
      const text = await textOf(
        [change('f', 'modified', [kept.file(old), kept.file(now)])],
        kept,
        context,
      );
      if (old === now) assert.equal(text, '');
      else gitApply(root, text, context === 0 ? ['--unidiff-zero'] : []);
      assert.equal(readFileSync(path.join(root, 'f'), 'utf8'), now);
      rmSync(root, { recursive: true });
    }),
    { numRuns: 60 },
  );
});

test('two large files that share little are told in time, and right', async () => {
  const kept = new Kept();
  // Every third line is new, every tenth moved: too much for a shortest difference.
  const old = Array.from({ length: 60_000 }, (_, at) => `line ${at % 5_000} of ${at}\n`);
  const now = old.map((line, at) => (at % 3 === 0 ? `other ${at * 7}\n` : line));
  for (let at = 0; at + 40 < now.length; at += 10) now[at] = old[(at * 17) % old.length] ?? '';
  const pair = [kept.file(old.join('').slice(0, 1_200_000)), kept.file(now.join(''))] as const;
  let turns = 0;
  const over = new AbortController();
  const others = (async () => {
    for (; !over.signal.aborted; turns += 1) await nextTurn();
  })();
  const { sections } = await createUnifiedDiff([change('f', 'modified', pair)], kept);
  over.abort();
  await others;
  // Others had their turn many times over while it was made.
  assert.ok(turns > 5, `${turns} turns`);
  const [section] = sections;
  assert.ok(section !== undefined && section.added !== null && section.removed !== null);
  const growth = now.length - old.join('').slice(0, 1_200_000).split('\n').length;
  assert.ok(Math.abs(section.added - section.removed - growth) <= 1);
});

test('secrets do not leave in a diff, nor in the names of its files', async () => {
  const kept = new Kept();
  const value = 'correct-horse-battery-staple-42';
  const token = ['ghp', 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'].join('_');
  const tags = new RedactionTags(Buffer.alloc(32, 7));
  const masking = new Masking(tags, { version: 1, known: () => [{ name: 'DB', value }] });
  const changes = [
    change('.env', 'modified', [
      kept.file(`A=1\nDB_PASSWORD=${value}\n`),
      kept.file(`A=2\nDB_PASSWORD=${value}\nGITHUB_TOKEN=${token}\n`),
    ]),
    change(`log-${value}.txt`, 'added', [null, kept.file('hello\n')]),
  ];
  const diff = await createUnifiedDiff(changes, kept);
  const options = { profile: 'balanced', thresholds: {}, patterns: [] } as const;
  const shown = await redactDiff(diff, { options, tags, index: masking.index });
  assert.doesNotMatch(shown.diff, new RegExp(`${value}|${token}`));
  // As it leaves the daemon: the names of files are masked there.
  assert.ok(!masking.json(shown).includes(value));
  assert.match(shown.diff, /^-A=1\n\+A=2$/m);
  assert.deepEqual(
    shown.files.map(({ added_lines: added, removed_lines: removed }) => [added, removed]),
    [
      [2, 1],
      [1, 0],
    ],
  );
});
