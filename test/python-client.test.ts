// The Python client against a real daemon: the list that every client must pass, and what happens
// when connections are lost.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import type { Daemon } from './support/daemon.ts';
import { startOpenapi, type OpenapiServer } from './support/openapi-server.ts';

const root = path.dirname(import.meta.dirname);
const clients = path.join(root, 'clients/python');
const cases = path.join(root, 'test/fixtures/conformance.json');
const probe = spawnSync('python3', ['-c', 'import sys; print(sys.version_info >= (3, 9))'], {
  encoding: 'utf8',
});
const skip = probe.stdout?.trim() === 'True' ? false : 'there is no python3 of 3.9 or newer';

let server: OpenapiServer;
let daemon: Daemon;
before(async () => {
  if (skip !== false) return;
  const token = ['cOnf0rmance', 'tok3n', 'of', '32', 'char', 'xyz'].join('-');
  server = await startOpenapi({ CONFORMANCE_TOKEN: token });
  ({ daemon } = server);
});
after(() => server?.[Symbol.asyncDispose]());

/** Runs Python with the client in reach; answers what it printed. Fails where it fails. */
async function python(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = spawn('python3', ['-B', ...args], {
    env: { ...process.env, PYTHONPATH: clients, TRL_SOCKET_PATH: daemon.socketPath, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}

const script = (text: string, env?: Readonly<Record<string, string>>) =>
  python(['-c', `import trl\n${text}`], env);

async function conforms(t: TestContext, where: readonly string[], env = {}): Promise<void> {
  const place = path.join(clients, 'conformance.py');
  // Who asked by a token may not decide: over HTTP there is no approver in one caller.
  const offers = ['--offers', where[0] === '--url' ? 'secrets' : 'secrets,approver,connection'];
  const { stdout, stderr } = await python([place, cases, ...where, ...offers], env);
  const lines = stdout.split('\n').filter((line) => line !== '');
  const all: unknown = JSON.parse(readFileSync(cases, 'utf8'));
  assert.equal(lines.length, Reflect.get(Object(all), 'cases').length, stderr);
  for (const line of lines) {
    const { name, why, skip: reason } = JSON.parse(line);
    if (typeof reason === 'string') continue;
    await t.test(name, () => assert.equal(why, null));
  }
}

test('over the socket the Python client does what every client must', { skip }, (t) =>
  conforms(t, ['--socket', daemon.socketPath]),
);

test('over HTTP the Python client does what every client must', { skip }, (t) =>
  conforms(t, ['--url', server.origin], { TRL_TOKEN: server.token }),
);

/** Passes bytes on to the daemon and cuts every connection after so many bytes from there. */
async function cutting(after: number): Promise<Server & { readonly path: string; cuts: number }> {
  const place = path.join(daemon.home, `cut-${after}.sock`);
  const server = createServer((near) => {
    const far = connect(daemon.socketPath);
    let left = after;
    const end = (): void => {
      near.destroy();
      far.destroy();
    };
    near
      .on('data', (bytes) => far.write(bytes))
      .on('error', end)
      .on('close', end);
    far.on('error', end).on('close', end);
    far.on('data', (bytes: Buffer) => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left > 0) return;
      found.cuts += 1;
      near.end();
      far.destroy();
    });
  });
  const found = Object.assign(server, { path: place, cuts: 0 });
  server.listen(place);
  await once(server, 'listening');
  return found;
}

test(
  'through lost connections every byte comes once, and nothing runs twice',
  { skip },
  async () => {
    const cut = await cutting(400_000);
    try {
      const { stdout, stderr } = await script(
        `
import hashlib
with trl.connect() as client, client.create_session() as session:
    got = hashlib.sha256()
    position = 0
    with session.stream("echo x >> /tmp/ran; seq 1 400000; wc -l < /tmp/ran") as stream:
        for event in stream:
            assert isinstance(event, trl.Output) and event.offset == position, event
            position += len(event.data)
            got.update(event.data)
        receipt = stream.collect()
    want = b"".join(b"%d\\n" % i for i in range(1, 400001)) + b"1\\n"
    print(position == len(want), got.hexdigest() == hashlib.sha256(want).hexdigest())
    print(receipt.exit_code, receipt.raw["stdout_bytes"] == len(want))
    print(session.run("wc -l < /tmp/ran").stdout, end="")
`,
        { TRL_SOCKET_PATH: cut.path },
      );
      assert.equal(stdout, 'True True\n0 True\n1\n', stderr);
      assert.ok(cut.cuts > 5, `${cut.cuts} cuts`);
    } finally {
      cut.close();
    }
  },
);

test('what is not waited for any more is ended, and the session is free', { skip }, async () => {
  const { stdout, stderr } = await script(`
with trl.connect() as client, client.create_session() as session:
    try:
        session.run("sleep 600", deadline=0.4)
    except TimeoutError as error:
        print("late:", error)
    print(session.run("echo free").stdout, end="")
    with session.stream("echo begun; sleep 600") as stream:
        for event in stream:
            break
    print([one["state"] for one in client.execs(session.id)])
    unread = session.stream("echo never >> /tmp/never")
    with unread:
        pass
    print(session.run("ls /tmp/never 2>&1 | wc -l; echo end").stdout, end="")
    kept = session.start("sleep 600")
    with client.attach(kept) as stream:
        pass
    print(client.exec(kept)["state"])
`);
  const states = `['exited', 'exited', 'exited']`;
  const wanted = `late: the deadline is over\nfree\n${states}\n1\nend\nrunning\n`;
  assert.equal(stdout, wanted, stderr);
});

test('calls of several threads wait for none but their own', { skip }, async () => {
  const { stdout, stderr } = await script(`
import threading
with trl.connect() as client, client.create_session() as session:
    kept = session.start("cat; echo over", stdin_open=True)
    ends = []
    reader = threading.Thread(target=lambda: ends.append(client.attach(kept).collect().stdout))
    reader.start()
    ask = lambda: ends.append(client.ping()["version"])
    others = [threading.Thread(target=ask) for _ in range(9)]
    for other in others: other.start()
    for other in others: other.join()
    print(len(ends), end=" ")
    client.write(kept, "typed ", eof=False)
    client.write(kept, b"twice", eof=True)
    reader.join()
    print(ends[-1], end="")
`);
  assert.equal(stdout, '9 typed twiceover\n', stderr);
});

const refused: readonly (readonly [string, RegExp])[] = [
  ['trl.connect("/nowhere/at/all.sock")', /BACKEND_UNAVAILABLE/],
  ['trl.connect(url="http://example.com:1", token="t" * 40)', /clear text: use https/],
  ['trl.connect(url="http://127.0.0.2.example.com", token="t" * 40)', /clear text/],
  ['trl.connect(url="http://me:secret@127.0.0.1", token="t" * 40)', /no credentials/],
  ['trl.connect(url="http://127.0.0.1:1/?token=x", token="t" * 40)', /no credentials/],
  ['trl.connect(url="ftp://127.0.0.1", token="t" * 40)', /http or https/],
  ['trl.connect(url="http://127.0.0.1:1")', /without a token/],
  ['trl.connect(url="http://127.0.0.1:1", token="a\\r\\nX: y")', /ASCII without spaces/],
  ['trl.connect(url="http://127.0.0.1:1", token="t" * 40)', /BACKEND_UNAVAILABLE/],
  ['trl.connect("/a.sock", url="http://127.0.0.1:1", token="t")', /one of them/],
];

test(
  'what cannot be, or would give the token away, is refused before it is sent',
  { skip },
  async () => {
    const all = JSON.stringify(refused.map(([call]) => call));
    const { stdout, stderr } = await script(`
import json
for call in json.loads(${JSON.stringify(all)}):
    try:
        eval(call)
        print("taken")
    except Exception as error:
        print(type(error).__name__, str(error).replace("\\n", " "))
`);
    const lines = stdout.split('\n');
    for (const [at, [call, wanted]] of refused.entries()) {
      assert.match(lines[at] ?? '', wanted, `${call}: ${stderr}`);
    }
    assert.equal(stdout.includes('secret@'), false);
  },
);

test('its types hold', { skip }, (t) => {
  // Of mypy before 1.7; what came later takes it, too.
  const feature = '--enable-incomplete-feature=Unpack';
  const args = [
    '--strict',
    feature,
    '--cache-dir',
    '/dev/null',
    'trl/__init__.py',
    'conformance.py',
  ];
  const { error, status, stdout } = spawnSync('mypy', args, { cwd: clients, encoding: 'utf8' });
  if (error !== undefined) return t.skip('mypy is not installed');
  assert.equal(status, 0, stdout);
});

test('programs that install it are checked against its types', { skip }, (t) => {
  const base = mkdtempSync(path.join(tmpdir(), 'trl-python-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const source = path.join(base, 'source');
  cpSync(clients, source, { recursive: true, verbatimSymlinks: true });
  const run = (program: string, args: readonly string[]): string => {
    const { error, status, stdout, stderr } = spawnSync(program, args, {
      cwd: source,
      encoding: 'utf8',
    });
    assert.equal(status, 0, `${program}: ${String(error)} ${stdout}${stderr}`);
    return stdout;
  };
  const venv = path.join(base, 'venv');
  const python = path.join(venv, 'bin/python');
  run('python3', ['-m', 'venv', '--without-pip', venv]);
  const site = run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))']).trim();
  const build = 'import sys; from setuptools import setup; setup()';
  const hasSetuptools = spawnSync('python3', ['-c', 'import setuptools']).status === 0;
  if (!hasSetuptools) return t.skip('setuptools is not installed');
  run('python3', ['-c', build, '--quiet', 'build_py', '--build-lib', site]);
  assert.deepEqual(readdirSync(path.join(site, 'trl')).toSorted(), ['__init__.py', 'py.typed']);
  const installed = readFileSync(path.join(site, 'trl/__init__.py'), 'utf8');
  assert.equal(installed, readFileSync(path.join(clients, 'trl.py'), 'utf8'));
  assert.equal(run(python, ['-c', 'import trl; print(trl.connect.__name__)']), 'connect\n');
  const use = path.join(base, 'use.py');
  const good = 'import trl\nprint(trl.connect().create_session().run("true").exit_code + 1)\n';
  const mypy = (text: string) => {
    writeFileSync(use, text);
    const args = ['--strict', '--python-executable', python, '--cache-dir', '/dev/null', use];
    return spawnSync('mypy', args, { cwd: base, encoding: 'utf8' });
  };
  const { error, status, stdout } = mypy(good);
  if (error !== undefined) return t.skip('mypy is not installed');
  assert.equal(status, 0, stdout);
  const wrong = mypy(good.replace('exit_code', 'exitcode'));
  assert.match(wrong.stdout, /"Receipt" has no attribute "exitcode"/);
});

test('a bound that is misspelt is refused, not passed over', { skip }, async () => {
  const { code, stderr, stdout } = await script(
    [
      'session = trl.connect().create_session()',
      'print(session.run("sleep 30", timeout_s=0.2).timed_out)',
      'for call in (session.run, session.stream, session.start):',
      '    try: call("sleep 30", timeout=1)',
      '    except TypeError as error: print(error)',
      'try: trl.connect().create_session(cwd="/tmp")',
      'except TypeError as error: print(error)',
    ].join('\n'),
  );
  const [ended, ...refused] = stdout.trimEnd().split('\n');
  const session = refused.pop() ?? '';
  assert.deepEqual([code, stderr, ended, refused.length], [0, '', 'True', 3]);
  assert.match(session, /^a session does not take cwd; it takes .*working_dir/);
  for (const one of refused) assert.match(one, /^a command does not take timeout; it takes .*_ms/);
});
