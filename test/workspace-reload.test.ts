// Hot reload: what a person saves is heard by programs that watch inside of a sandbox.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { raw, shareRuntime, type Json } from './support/daemon.ts';
import { noOverlay } from './support/changes.ts';
import { eventually } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const corner = shareRuntime();
const skip = noOverlay();

interface Watched extends AsyncDisposable {
  readonly session: TestSession;
  readonly file: (name: string) => string;
  /** What the command wrote to `seen`. */
  readonly seen: () => string;
  readonly save: (name: string, text: string, how?: 'in-place' | 'by-rename') => void;
  /** Runs a server until the answer is called, which tells its changes, as `path state`. */
  readonly serve: (command: string) => () => Promise<string[]>;
}

async function watched(): Promise<Watched> {
  const { root: dir, socketPath } = await corner();
  const session = await openSession(socketPath, { working_dir: dir });
  const file = (name: string): string => path.join(dir, name);
  mkdirSync(file('src'));
  return {
    session,
    file,
    seen: () => (existsSync(file('seen')) ? readFileSync(file('seen'), 'utf8') : ''),
    save: (name, text, how = 'in-place') => {
      if (how === 'in-place') return writeFileSync(file(name), text);
      writeFileSync(file('src/.saving'), text);
      return renameSync(file('src/.saving'), file(name));
    },
    serve: (command) => {
      const served = session.run(`${command} & read _; kill $!`, {
        stdin_open: true,
        timeout_ms: 400_000,
      });
      return async () => {
        using other = await raw(socketPath);
        const { data } = await other.ask('exec.list', { session_id: session.id });
        const found = data.execs.find(({ state }: Json) => state === 'running');
        await other.ask('exec.write', { exec_id: found?.exec_id, data: '\n', eof: true });
        const { changes } = await served;
        return changes.map(({ path: name, state }: Json) => `${name} ${state}`);
      };
    },
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };
}

describe('what others save', { concurrency: 3 }, () => {
  test('a server that watches hears what a person saves, again and again', { skip }, async () => {
    await using ws = await watched();
    const { session, file, seen, save } = ws;
    save('src/value.js', "module.exports = 'one'");
    save(
      'main.js',
      "require('fs').appendFileSync('seen', require('./src/value.js') + '\\n');" +
        'setInterval(() => {}, 1000);',
    );
    const end = ws.serve('node --watch main.js');
    await eventually('the first', () => seen().endsWith('one\n'));
    for (const [at, value] of ['two', 'three', 'four', 'five', 'six'].entries()) {
      // After one by rename this program hears no more, on the host either: it watches the file.
      const how = at === 4 ? 'by-rename' : 'in-place';
      save('src/value.js', `module.exports = '${value}'`, how);
      await eventually(value, () => seen().endsWith(`${value}\n`), 90_000);
    }
    assert.deepEqual(await end(), ['seen applied']);
    assert.equal(readFileSync(file('src/value.js'), 'utf8'), "module.exports = 'six'");
    save('src/value.js', 'later');
    assert.equal((await session.run('cat src/value.js')).stdout, 'later');
  });

  /** Tells every event of two directories, and what is in the file then. */
  const watching = `const fs = require('fs');
for (const dir of ['.', 'src']) fs.watch(dir, (type, name) => {
  if (name === 'seen' || name.startsWith('.')) return;
  const file = dir + '/' + name;
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  const text = stat === undefined ? 'gone' : stat.isFile() ? fs.readFileSync(file, 'utf8') : 'dir';
  fs.appendFileSync('seen', file + '=' + text + '\\n');
});
fs.appendFileSync('seen', 'watching\\n');
setInterval(() => {}, 1000);`;

  test(
    'watchers hear of saves by rename, new files, directories and deletions',
    { skip },
    async () => {
      await using ws = await watched();
      const { session, file, seen, save } = ws;
      save('src/a', 'one');
      save('watch.js', watching);
      const end = ws.serve('node watch.js');
      const heard = async (line: string): Promise<void> => {
        const all = seen().split('\n').length - 1;
        const isHeard = (): boolean => seen().split('\n').slice(all).includes(line);
        await eventually(line, isHeard, 90_000).catch((cause: unknown) => {
          throw new Error(seen(), { cause });
        });
      };
      await eventually('the start', () => seen() !== '');
      for (const [how, text] of [
        ['by-rename', 'two'],
        ['in-place', 'three'],
        ['by-rename', 'four'],
        ['by-rename', 'five'],
      ] as const) {
        save('src/a', text, how);
        await heard(`src/a=${text}`);
      }
      for (const text of ['first', 'again']) {
        save('src/new', text);
        await heard(`src/new=${text}`);
        rmSync(file('src/new'));
        await heard('src/new=gone');
      }
      rmSync(file('src/a'));
      await heard('src/a=gone');
      save('src/a', 'back', 'by-rename');
      await heard('src/a=back');
      mkdirSync(file('src/sub/deep'), { recursive: true });
      await heard('src/sub=dir');
      rmSync(file('src/sub'), { recursive: true });
      await heard('src/sub=gone');
      assert.deepEqual(await end(), ['seen applied']);
      assert.equal(readFileSync(file('src/a'), 'utf8'), 'back');
      assert.equal((await session.run('ls -A src; cat src/a')).stdout, 'a\nback');
      const status = await session.client.ask('workspace.status', { session_id: session.id });
      assert.deepEqual(status.data.pending ?? [], []);
    },
  );
});

describe('watching, and writing beside it', { concurrency: 3 }, () => {
  test('nothing is told of what is hidden, and no link is followed', { skip }, async () => {
    const { socketPath, root: dir } = await corner();
    using client = await raw(socketPath);
    mkdirSync(path.join(dir, 'open'), { recursive: true });
    mkdirSync(path.join(dir, 'shut'));
    mkdirSync(path.join(dir, 'bare/objects'), { recursive: true });
    mkdirSync(path.join(dir, 'bare/refs'));
    mkdirSync(path.join(dir, 'swapped'));
    const file = (name: string): string => path.join(dir, name);
    for (const name of ['open/a', 'shut/a', 'open/a.pem', 'bare/HEAD', 'swapped/a', 'victim']) {
      writeFileSync(file(name), 'one');
    }
    const odd = Buffer.from(`${dir}/open/odd\xff\n`, 'latin1');
    writeFileSync(odd, 'one');
    const policy = { read: { deny: ['shut', '**/*.pem'] } };
    const opened = await client.ask('workspace.open', { path: dir, policy });
    assert.equal(opened.ok, true, JSON.stringify(opened));
    const { workspace_id } = opened.data;
    await using session = await openSession(socketPath, { workspace_id });
    writeFileSync(
      file('watch.js'),
      `const fs = require('fs');
for (const dir of ['.', 'open']) fs.watch(dir, { encoding: 'latin1' }, (type, name) => {
  if (name !== 'seen') fs.appendFileSync('seen', JSON.stringify(dir + '/' + name) + '\\n');
});
fs.appendFileSync('seen', 'watching\\n');
setInterval(() => {
  try { fs.rmSync('swapped', { recursive: true }); fs.symlinkSync('.', 'swapped'); } catch {}
  try { fs.unlinkSync('swapped'); fs.mkdirSync('swapped'); } catch {}
  try { fs.symlinkSync('../victim', 'swapped/a'); } catch {}
}, 200);`,
    );
    const started = await client.ask('exec.start', {
      session_id: session.id,
      command: 'mkfifo pipe; exec node watch.js',
    });
    assert.equal(started.ok, true, JSON.stringify(started));
    const seen = (): string => (existsSync(file('seen')) ? readFileSync(file('seen'), 'utf8') : '');
    await eventually('the start', () => seen() !== '');
    for (const text of ['two', 'three', 'four']) {
      for (const name of ['shut/a', 'open/a.pem', 'open/new.pem', 'bare/HEAD', 'swapped/a']) {
        if (!existsSync(path.dirname(file(name)))) continue;
        // By rename: this process must not follow the command's links either.
        writeFileSync(file('.saving'), text);
        renameSync(file('.saving'), file(name));
      }
      rmSync(file('open/new.pem'));
      writeFileSync(odd, text);
      const before = seen().length;
      writeFileSync(file('open/a'), text);
      await eventually(text, () => seen().slice(before).includes('"open/a"'), 90_000);
    }
    assert.match(seen(), /open\/odd\u00ff\\n/);
    const told = seen().split('\n');
    assert.deepEqual(
      told.filter((line) => /shut|pem|HEAD|trl-/.test(line)),
      [],
    );
    await session.destroy();
    assert.equal(readFileSync(file('victim'), 'utf8'), 'one');
  });

  test('no line is lost of a command that appends while it watches', { skip }, async () => {
    await using ws = await watched();
    const { session, file, save } = ws;
    save('log', 'start\n');
    save('src/other', 'start\n');
    save(
      'main.js',
      `const fs = require('fs');
fs.watch('.', () => {});
fs.watch('src', () => {});
const fd = fs.openSync('log', 'a');
let n = 0;
const timer = setInterval(() => {
  fs.writeSync(fd, 'command ' + n + '\\n');
  fs.appendFileSync('src/other', 'other ' + n + '\\n');
  if (++n === 60) clearInterval(timer), process.exit();
}, 100);`,
    );
    const running = session.run('node main.js', { timeout_ms: 60_000 });
    await eventually('the first', () => readFileSync(file('log'), 'utf8').includes('command 1'));
    let mine = 0;
    const saving = setInterval(() => {
      mine += 1;
      writeFileSync(file('log'), `person ${mine}\n`, { flag: 'a' });
      writeFileSync(file('src/other'), `mine ${mine}\n`, { flag: 'a' });
    }, 230);
    const receipt = await running;
    clearInterval(saving);
    assert.equal(receipt.exit_code, 0, receipt.stderr);
    for (const [name, theirs, own] of [
      ['log', 'command', 'person'],
      ['src/other', 'other', 'mine'],
    ] as const) {
      const lines = readFileSync(file(name), 'utf8').split('\n');
      const count = (word: string): number => lines.filter((line) => line.startsWith(word)).length;
      assert.deepEqual([count(theirs), count(own)], [60, mine], `${name}: ${lines.join('|')}`);
      assert.equal(new Set(lines).size, lines.length, 'a line is doubled');
    }
  });

  test(
    'undo takes from a saved file what the command added, and nothing else',
    { skip },
    async () => {
      await using ws = await watched();
      const { session, file, save } = ws;
      save('src/a', 'one\n');
      save('src/untouched', 'one\n');
      // It adds a line to each save that it hears of.
      save(
        'main.js',
        `const fs = require('fs');
fs.watch('src', (type, name) => {
  const text = fs.readFileSync('src/a', 'utf8');
  if (name !== 'a' || !text.includes('mine') || text.endsWith('theirs\\n')) return;
  fs.appendFileSync('src/a', 'theirs\\n');
});
fs.writeFileSync('seen', '');
setInterval(() => {}, 1000);`,
      );
      const end = ws.serve('node main.js');
      await eventually('the start', () => existsSync(file('seen')));
      save('src/untouched', 'mine\n');
      save('src/a', 'one\nmine\n');
      const there = (): string => readFileSync(file('src/a'), 'utf8');
      await eventually('its line', () => there() === 'one\nmine\ntheirs\n', 90_000);
      save('src/a', 'zero\none\nmine\ntheirs\n', 'by-rename');
      assert.deepEqual(await end(), ['seen applied', 'src/a applied']);
      assert.equal(there(), 'zero\none\nmine\ntheirs\n');
      const { data } = await session.client.ask('exec.list', { session_id: session.id });
      const undone = await session.client.ask('exec.undo', { exec_id: data.execs[0].exec_id });
      assert.equal(undone.ok, true, JSON.stringify(undone));
      assert.equal(there(), 'zero\none\nmine\n');
      assert.equal(readFileSync(file('src/untouched'), 'utf8'), 'mine\n');
    },
  );
});
