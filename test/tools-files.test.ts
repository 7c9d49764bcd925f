// Files as tools have them, over a real runtime, and what becomes of them on the host.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { callTool, createConversation } from '../src/tools/index.ts';
import type { ToolContext, ToolResult } from '../src/tools/index.ts';
import { tokensOf, totalOf } from '../tools/tool-tokens.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

let daemon: Daemon;
let client: Client;
let context: ToolContext;
const asked: string[] = [];
before(async () => {
  daemon = await startRuntime();
  client = await connectLocal({ socketPath: daemon.socketPath });
  const root = daemon.root;
  context = {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    ask: async (approval) => {
      asked.push(approval.asked.command);
      return 'deny';
    },
    workspace: { root },
    sessions: createConversation({ client, root, name: 'files' }),
  };
});
after(async () => {
  await client?.close();
  await daemon?.stop();
});

const call = async (name: string, args: object): Promise<ToolResult> =>
  callTool(context, name, { ...args });
const dataOf = ({ data }: ToolResult): Json => data;
const at = (name: string): string => path.join(daemon.root, name);

/** Fails with `code` and one sentence. */
async function refused(name: string, args: object, code: string, why: RegExp): Promise<void> {
  const { error, text } = await call(name, args);
  assert.equal(error?.code, code, text);
  assert.match(error.message, why);
  assert.equal(error.message.split('\n').length, 1, text);
}

test('a file is read in parts, with numbers or without, and nobody is asked', async () => {
  const lines = Array.from({ length: 3_000 }, (_, row) => `row ${row + 1}`);
  writeFileSync(at('rows'), `${lines.join('\n')}\n`);
  const first = dataOf(await call('read', { path: 'rows' }));
  assert.equal(first.content, `${lines.slice(0, 2_000).join('\n')}\n`);
  assert.deepEqual(
    [first.first_line, first.lines, first.total_lines, first.truncated, first.path],
    [1, 2_000, 3_000, true, at('rows')],
  );
  assert.deepEqual(first.notes, ['Lines 1 to 2000 of 3000; offset 2001 reads on.']);
  const last = await call('read', { path: at('rows'), offset: 2_999, numbered: true });
  assert.equal(dataOf(last).content, '2999\trow 2999\n3000\trow 3000\n');
  assert.equal(last.text, '2999\trow 2999\n3000\trow 3000');
  assert.equal(dataOf(last).truncated, false);
  await refused('read', { path: 'rows', offset: 3_001 }, 'INVALID_PARAMS', /3000 lines/u);
  // Where the session is, a relative path begins.
  await call('terminal', { command: 'mkdir -p deep && cd deep && echo here > near' });
  assert.equal(dataOf(await call('read', { path: 'near' })).content, 'here\n');
  await call('terminal', { command: 'cd ..' });
  assert.deepEqual(asked, []);
});

test('what a file is like is said: line ends, no end, bytes that are no text', async () => {
  writeFileSync(at('dos'), 'a\r\nb\r\n');
  assert.deepEqual(dataOf(await call('read', { path: 'dos' })).notes, ['Its lines end with CRLF.']);
  writeFileSync(at('open'), '\ufeffa\nb');
  const open = dataOf(await call('read', { path: 'open' }));
  assert.deepEqual([open.content, open.lines], ['\ufeffa\nb', 2]);
  assert.deepEqual(open.notes, ['Its last line has no line end.']);
  writeFileSync(at('latin'), Buffer.from('caf\xe9\n', 'latin1'));
  const latin = dataOf(await call('read', { path: 'latin' }));
  assert.equal(latin.content, 'caf\ufffd\n');
  assert.match(latin.notes[0], /not all UTF-8/u);
  writeFileSync(at('empty'), '');
  assert.deepEqual(dataOf(await call('read', { path: 'empty' })).notes, ['The file is empty.']);
  writeFileSync(at('binary'), 'a\0b');
  await refused('read', { path: 'binary' }, 'INVALID_PARAMS', /it is binary, 3 bytes/u);
  writeFileSync(at('one-line'), 'ä'.repeat(200_000));
  const long = dataOf(await call('read', { path: 'one-line' }));
  assert.ok(/^ä+$/u.test(long.content) && long.content.length > 20_000);
  assert.match(long.notes.join(' '), /Line 1 is cut/u);
});

test('what is no file of the project is refused in one sentence by every tool', async () => {
  const outside = path.join(daemon.home, 'outside');
  mkdirSync(outside, { recursive: true });
  writeFileSync(path.join(outside, 'file'), 'outside\n');
  symlinkSync(outside, at('out'));
  symlinkSync('out/file', at('to-file'));
  spawnSync('mkfifo', [at('fifo')]);
  const places = ['/etc/passwd', '../outside/file', 'out/file', 'to-file', '/proc/self/environ'];
  const calls: readonly [string, object][] = [
    ['read', {}],
    ['write', { content: 'x' }],
    ['edit', { old: 'outside', new: 'x' }],
    ['list', {}],
    ['search', { pattern: 'x' }],
  ];
  for (const [name, args] of calls) {
    for (const place of places) {
      await refused(name, { path: place, ...args }, 'WORKSPACE_ESCAPE', /outside the project/u);
    }
    await refused(name, { path: '~/x', ...args }, 'INVALID_PARAMS', /not expanded/u);
    if (name !== 'list') {
      await refused(name, { path: 'fifo', ...args }, 'INVALID_PARAMS', /no regular file/u);
    }
    if (name !== 'write') {
      await refused(name, { path: 'none', ...args }, 'INVALID_PARAMS', /there is no such/u);
    }
  }
  await refused('read', { path: '.' }, 'INVALID_PARAMS', /outside|directory/u);
  assert.equal(readFileSync(path.join(outside, 'file'), 'utf8'), 'outside\n');
  writeFileSync(at('target'), 'inside\n');
  symlinkSync('target', at('inner'));
  const inner = dataOf(await call('read', { path: 'inner' }));
  assert.deepEqual([inner.content, inner.path], ['inside\n', at('target')]);
});

test('a file is written and edited, recorded, and undone as a command is', async () => {
  const made = await call('write', { path: 'new/dir/a.ts', content: 'one\ntwo\n' });
  assert.equal(made.text, `Made ${at('new/dir/a.ts')}, 8 bytes.`);
  const { mode } = statSync(at('new/dir/a.ts'));
  const edited = await call('edit', { path: 'new/dir/a.ts', old: 'two', new: "2 'two'" });
  assert.equal(edited.text, `Replaced 1 place in ${at('new/dir/a.ts')}, line 2.`);
  assert.equal(readFileSync(at('new/dir/a.ts'), 'utf8'), "one\n2 'two'\n");
  assert.equal(statSync(at('new/dir/a.ts')).mode, mode);
  const diff = await call('workspace_diff', { exec_id: dataOf(edited).exec_id });
  assert.match(diff.text, /-two\n\+2 'two'/u);
  await client.call('exec.undo', { exec_id: dataOf(edited).exec_id });
  assert.equal(readFileSync(at('new/dir/a.ts'), 'utf8'), 'one\ntwo\n');
  const same = await call('write', { path: 'new/dir/a.ts', content: 'one\ntwo\n' });
  assert.match(same.text, /had this content before/u);
  assert.deepEqual(asked, []);
});

test('an edit replaces what is there once, or all of it, and says why it does not', async () => {
  writeFileSync(at('e.txt'), 'a b\nb\n  c\nb\n');
  const edit = async (old: string, text: string, more: object = {}): Promise<ToolResult> =>
    call('edit', { path: 'e.txt', old, new: text, ...more });
  await refused(
    'edit',
    { path: 'e.txt', old: 'b', new: 'x' },
    'INVALID_PARAMS',
    /3 times \(lines 1, 2, 4\)/u,
  );
  await refused('edit', { path: 'e.txt', old: 'q', new: 'x' }, 'INVALID_PARAMS', /not in it$/u);
  const loose = { path: 'e.txt', old: 'b\nc\n', new: 'x' };
  await refused('edit', loose, 'INVALID_PARAMS', /line 2 differs from it in white space alone/u);
  await refused('edit', { path: 'e.txt', old: '', new: 'x' }, 'INVALID_PARAMS', /empty/u);
  await refused('edit', { path: 'e.txt', old: 'a', new: 'a' }, 'INVALID_PARAMS', /equal/u);
  const all = await edit('b', 'B', { replace_all: true });
  assert.deepEqual([dataOf(all).replaced, dataOf(all).at_lines], [3, [1, 2, 4]]);
  assert.equal(readFileSync(at('e.txt'), 'utf8'), 'a B\nB\n  c\nB\n');
  // In its own line ends, and bytes that are no text are left as they are.
  writeFileSync(at('e.txt'), Buffer.from('x\xe9\r\ny\r\n', 'latin1'));
  const crlf = await edit('\ny\n', '\nz\nw\n');
  assert.match(crlf.text, /CRLF/u);
  assert.equal(readFileSync(at('e.txt'), 'latin1'), 'x\xe9\r\nz\r\nw\r\n');
  writeFileSync(at('e.txt'), 'no end');
  assert.equal((await edit('end', 'END $& \\1')).error, undefined);
  assert.equal(readFileSync(at('e.txt'), 'utf8'), 'no END $& \\1');
});

test('a file that something else wrote since it was read says so', async () => {
  writeFileSync(at('moving'), 'a\nb\n');
  await call('read', { path: 'moving' });
  const own = await call('edit', { path: 'moving', old: 'a', new: 'A' });
  assert.deepEqual(dataOf(own).notes, []);
  const again = await call('edit', { path: 'moving', old: 'A', new: 'AA' });
  assert.deepEqual(dataOf(again).notes, []);
  await call('terminal', { command: 'echo c >> moving' });
  const other = await call('edit', { path: 'moving', old: 'AA', new: 'a' });
  assert.deepEqual(dataOf(other).notes, [
    'It was changed by something else since you last read or wrote it.',
  ]);
  assert.equal(readFileSync(at('moving'), 'utf8'), 'a\nb\nc\n');
});

test('what is hidden is never written back, and what is beside it can be edited', async () => {
  const secret = 'q7Wm2xLp9RtZ4vNc5Kd8Hf3T';
  const text = (name: string): string => `name=${name}\napi_key=${secret}\n`;
  writeFileSync(at('app.conf'), text('a'));
  const read = await call('read', { path: 'app.conf' });
  assert.ok(!JSON.stringify(read).includes(secret));
  const { content, redactions } = dataOf(read);
  assert.equal(redactions.count, 1);
  assert.match(read.text, /Do not write this text back/u);
  const [tag] = redactions.tags;
  for (const [name, args] of [
    ['write', { content }],
    ['edit', { old: 'name=a', new: `name=${tag}` }],
  ] as const) {
    const args_ = { path: 'app.conf', ...args };
    await refused(name, args_, 'INVALID_PARAMS', /represents a hidden value/u);
  }
  const masked = { path: 'app.conf', old: `api_key=${tag}`, new: 'x' };
  await refused('edit', masked, 'INVALID_PARAMS', /"old" has a tag/u);
  assert.equal(readFileSync(at('app.conf'), 'utf8'), text('a'));
  await call('edit', { path: 'app.conf', old: 'name=a', new: 'name=b' });
  assert.equal(readFileSync(at('app.conf'), 'utf8'), text('b'));
});

test('files are listed and searched, with what is not the project left out', async () => {
  mkdirSync(at('tree/src/in'), { recursive: true });
  mkdirSync(at('tree/node_modules/x'), { recursive: true });
  writeFileSync(at('tree/src/a.ts'), 'const Alpha = 1;\nbeta\ngamma\n');
  writeFileSync(at('tree/src/in/b.ts'), 'alpha\n');
  writeFileSync(at('tree/src/in/c.js'), 'alpha\n');
  writeFileSync(at('tree/node_modules/x/d.ts'), 'alpha\n');
  symlinkSync('a.ts', at('tree/src/link'));
  const flat = dataOf(await call('list', { path: 'tree/src' }));
  assert.deepEqual(flat.entries, ['a.ts', 'in/', 'link -> a.ts']);
  const found = dataOf(await call('list', { path: 'tree', glob: '*.ts' }));
  assert.deepEqual(found.entries, ['src/a.ts', 'src/in/b.ts']);
  const braces = dataOf(await call('list', { path: 'tree', glob: 'src/**/*.{js,ts}' }));
  assert.deepEqual(braces.entries, ['src/a.ts', 'src/in/b.ts', 'src/in/c.js']);
  for (const pattern of ['alpha', '(?=alpha)al']) {
    const args = { pattern, path: 'tree/src', ignore_case: true, glob: '*.ts', context: 1 };
    const hits = dataOf(await call('search', args));
    const first = 'tree/src/a.ts:1: const Alpha = 1;\ntree/src/a.ts-2- beta\n';
    assert.equal(hits.output, `${first}--\ntree/src/in/b.ts:1: alpha\n`, pattern);
    assert.equal(hits.matches, 2);
  }
  const none = await call('search', { pattern: 'nowhere', path: 'tree' });
  assert.equal(none.text, 'Nothing matches.');
  await refused(
    'search',
    { pattern: '(', path: 'tree' },
    'INVALID_PARAMS',
    /no regular expression/u,
  );
  const one = dataOf(await call('search', { pattern: 'row', path: 'rows', max: 3 }));
  assert.deepEqual([one.matches, one.truncated], [3, true]);
  assert.equal(existsSync(at('new/dir/a.ts')), true);
});

test('what the caller may not see is not there, and names like code are names', async () => {
  const odd = `q'$(touch made)\`;-- "x"`;
  await call('write', { path: odd, content: '1\n' });
  assert.equal(readFileSync(at(odd), 'utf8'), '1\n');
  assert.equal(existsSync(at('made')), false);
  const lines = '-e\n# not a comment';
  await call('write', { path: `-f ${lines}`, content: '2\n' });
  assert.equal(dataOf(await call('read', { path: `-f ${lines}` })).content, '2\n');
  const session = await client.createSession({
    working_dir: daemon.root,
    files: { read: { deny: ['rows'] } },
  });
  const args = { session_id: session.id };
  await refused('read', { ...args, path: 'rows' }, 'INVALID_PARAMS', /no such file/u);
  const listed = dataOf(await call('list', args));
  assert.ok(!listed.entries.includes('rows'));
  const searched = dataOf(await call('search', { ...args, pattern: 'row 17$' }));
  assert.equal(searched.matches, 0);
});

test('the general tools cost a model at most 2,500 tokens', () => {
  const total = totalOf(tokensOf('general'));
  assert.ok(total <= 2_500, `${total}`);
});
