// Python scripts as commands, and what they call: through the front door, in a real sandbox.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoBox } from './support/box.ts';
import { raw, startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { eventually, withGrowingTimeout } from './support/processes.ts';
import { openSession, type TestSession } from './support/session.ts';

const noPython = existsSync('/usr/bin/python3') ? false : 'there is no /usr/bin/python3';
const skip = whyNoBox || noPython;
const python = { language: 'python', timeout_ms: 240_000 };

/** The question that appears, answered. */
async function answerNext(daemon: Daemon, decision: 'approve' | 'deny'): Promise<Json> {
  using client = await raw(daemon.socketPath);
  for (;;) {
    const { approvals } = (await client.ask('approval.list', { state: 'pending' })).data;
    const [found] = approvals;
    if (found === undefined) {
      await sleep(20);
      continue;
    }
    const { approval_id: id, digest } = found;
    await client.ask('approval.decide', { approval_id: id, decision, digest: digest.slice(0, 8) });
    return found;
  }
}

let daemon: Daemon;
let session: TestSession;

before(async () => {
  if (skip !== false) return;
  daemon = await startRuntime();
  session = await openSession(daemon.socketPath, { working_dir: daemon.root });
});
after(async () => {
  if (skip !== false) return;
  await session[Symbol.asyncDispose]();
  await daemon.stop();
});

const run = (script: string, more: object = {}): Promise<Json> =>
  session.run(script, { ...python, ...more });

test('runs isolated in a directory of its own that is gone afterwards', { skip }, async () => {
  const script = `
import os, sys
open('left', 'w').write('x')
print(os.getcwd())
print(os.listdir('.'), sys.flags.isolated, sys.argv, __name__, os.environ['TRL_WORKSPACE'])
print(sys.stdin.read())
os.chdir('/'); os.environ['CARRIED'] = 'no'
`;
  const [one, two] = [await run(script, { stdin: 'input' }), await run(script)];
  const [cwd = '', said, input] = one.stdout.split('\n');
  assert.match(cwd, /^\/tmp\//);
  assert.equal(said, `['left'] 1 ['<script>'] __main__ ${daemon.root}`);
  assert.equal(input, 'input');
  assert.notEqual(two.stdout.split('\n')[0], cwd);
  assert.deepEqual([one.exit_code, one.state_captured], [0, false]);
  const after = await session.run(`ls ${cwd}; ls -A /tmp/.script; pwd; echo "$CARRIED"`);
  assert.equal(after.stdout, `${daemon.root}\n\n`);
  assert.match(after.stderr, /No such file/);
});

test('that is ended leaves no directory either', { skip }, async () => {
  const script = `
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open('left', 'w').write('x')
print(os.getcwd())
time.sleep(900)
`;
  const answer = await withGrowingTimeout(
    1_000,
    (timeout_ms) => session.ask(script, { ...python, timeout_ms, grace_ms: 50 }),
    ({ data }) => data?.stdout !== '',
  );
  assert.equal(answer.error.code, 'COMMAND_TIMEOUT');
  const cwd = answer.data.stdout.trim();
  assert.match(cwd, /^\/tmp\//);
  const left = await session.run(`ls -d ${cwd}; ls -A /tmp/.script`);
  assert.equal(left.stdout, '');
});

test('is in no argument list and no environment of the host', { skip }, async () => {
  const marker = 'marker-of-a-script-8d1f';
  const script = `# ${marker}\nimport sys\nprint('up', flush=True)\nsys.stdin.read()`;
  const started = await session.client.ask('exec.start', {
    session_id: session.id,
    command: script,
    language: 'python',
    stdin_open: true,
  });
  const { exec_id: id } = started.data;
  await session.client.ask('exec.read', { exec_id: id, wait_ms: 60_000 });
  const seen = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => ['cmdline', 'environ'].map((file) => `/proc/${pid}/${file}`))
    .filter((file) => Number(file.split('/')[2]) !== process.pid && holds(file, marker));
  assert.deepEqual(seen, []);
  await session.client.ask('exec.write', { exec_id: id, eof: true });
});

test('shows tracebacks that begin in it, with its own lines', { skip }, async () => {
  const failed = await run('def f():\n    1/0\n\nf()\n');
  assert.equal(failed.exit_code, 1);
  assert.match(
    failed.stderr,
    /^Traceback.*\n {2}File "<script>", line 4, in <module>\n {4}f\(\)\n.*line 2, in f\n {4}1\/0/,
  );
  const wrong = await run('x = (\n');
  assert.match(wrong.stderr, /File "<script>", line 1\n {4}x = \(/);
  assert.equal((await run('raise SystemExit(7)')).exit_code, 7);
});

test('is refused a working directory of its caller', { skip }, async () => {
  const { error } = await session.ask('1', { ...python, cwd: '.' });
  assert.equal(error.code, 'INVALID_PARAMS');
  assert.match(error.message, /TRL_WORKSPACE/);
  const unknown = await session.ask('1', { language: 'perl' });
  assert.match(unknown.error.message, /"shell" or "python"/);
});

test('calls what policy allows at once, in the session that it has itself', { skip }, async () => {
  writeFileSync(path.join(daemon.root, 'seen.txt'), 'text\n');
  const script = `
import rpc, threading
first = rpc.call('terminal', command='cat seen.txt')
print(first['stdout'], first['exit_code'], first['session_id'])
found = []
def one(): found.append(rpc.call('terminal', {'command': 'ls'})['stdout'])
all = [threading.Thread(target=one) for _ in range(8)]
for thread in all: thread.start()
for thread in all: thread.join()
print(len(found), set(found))
print('python_rpc' in [tool['name'] for tool in rpc.tools()])
`;
  const { stdout, stderr } = await run(script);
  assert.equal(stdout, `text\n 0 ${session.id}\n8 {'seen.txt\\n'}\nTrue\n`, stderr);
});

test('is asked about what policy asks about, and told what it refuses', { skip }, async () => {
  const script = `
import rpc
def tell(**given):
    try:
        print(rpc.call('terminal', **given)['exit_code'])
    except rpc.Error as error:
        print(error.code, error.data.get('exec_id', '')[:2])
tell(command='touch asked')
tell(command='touch denied')
tell(command='rm -rf /')
tell(command='ls', cwd='../..')
tell(command='echo', env_keys=['NO_SUCH_SECRET'])
tell()
`;
  const running = run(script);
  const asked = await answerNext(daemon, 'approve');
  assert.equal(asked.asked.command, 'touch asked');
  assert.equal((await answerNext(daemon, 'deny')).asked.command, 'touch denied');
  const { stdout } = await running;
  assert.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line: string) => line.trim()),
    [
      '0',
      'APPROVAL_DENIED',
      'POLICY_DENIED',
      'WORKSPACE_ESCAPE',
      'INVALID_PARAMS',
      'INVALID_PARAMS',
    ],
  );
  assert.ok(existsSync(path.join(daemon.root, 'asked')));
  assert.ok(!existsSync(path.join(daemon.root, 'denied')));
});

test('runs no script in it', { skip }, async () => {
  const script = `
import rpc
try:
    rpc.call('python_rpc', script='print(1)')
except rpc.Error as error:
    print(error.code)
`;
  assert.equal((await run(script)).stdout, 'POLICY_DENIED\n');
});

test('is named in the record of what it called for', { skip }, async () => {
  const { exec_id: parent } = await run("import rpc; rpc.call('terminal', command='ls -la')");
  const { events } = (await session.client.ask('audit.list', { session_id: session.id, limit: 40 }))
    .data;
  const child = events.find(
    ({ data }: Json) => data.command === 'ls -la' && data.shell !== undefined,
  );
  assert.equal(child.data.parent, parent);
  const own = events.find(
    ({ exec_id: id, kind }: Json) => id === parent && kind === 'exec.requested',
  );
  assert.equal(own.data.language, 'python');
});

test('keeps its descriptor from the processes that it starts', { skip }, async () => {
  const script = `
import os, rpc, subprocess, sys
look = 'import os, sys\\ntry:\\n os.write(7, b"1 {}\\\\n")\\nexcept OSError as e: print(e.errno)'
sys.stdout.write(subprocess.run([sys.executable, '-c', look], close_fds=False,
    capture_output=True, text=True).stdout)
open_again = 'import os, sys\\ntry:\\n os.open("/proc/%s/fd/7" % sys.argv[1], os.O_RDWR)' \\
    '\\nexcept OSError as e: print(e.errno)'
sys.stdout.write(subprocess.run([sys.executable, '-c', open_again, str(os.getpid())],
    capture_output=True, text=True).stdout)
rpc.call('terminal', command='ls')
pid = os.fork()
if pid == 0:
    try:
        rpc.call('terminal', command='ls')
    except rpc.Error as error:
        print(error.code, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(rpc.call('terminal', command='ls')['exit_code'])
`;
  const { stdout, stderr } = await run(script);
  // EBADF: it is not open; ENXIO: a socket has no name.
  assert.equal(stdout, '9\n6\nBACKEND_UNAVAILABLE\n0\n', stderr);
});

test('a copy of it calls nothing, and leaves the calls of the first alone', { skip }, async () => {
  const script = `
import os, rpc
def copy():
    pid = os.fork()
    if pid == 0:
        # Files that are opened now may get the number of the channel.
        taken = [os.open('taken', os.O_RDWR | os.O_CREAT) for _ in range(8)]
        try:
            rpc.call('terminal', command='ls')
        except rpc.Error as error:
            print(error.code, os.stat('taken').st_size, flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    print(rpc.call('terminal', command='ls')['exit_code'], flush=True)
copy()
copy()
`;
  const { stdout, stderr } = await run(script);
  assert.equal(stdout, 'BACKEND_UNAVAILABLE 0\n0\n'.repeat(2), stderr);
});

const hostile: readonly (readonly [string, string])[] = [
  ['what is no call', 'os.write(7, b\'{"exec_id":"x-0"}\\n\')'],
  ['a number that is none', "os.write(7, b'01 {}\\n')"],
  ['a line that never ends', "[os.write(7, b'x' * 65536) for _ in range(40)]"],
  ['a line that is too long', "[os.write(7, b'7 ' + b'x' * 65536) for _ in range(17)]"],
  [
    'one number twice',
    `os.write(7, b'5 {"tool":"terminal","arguments":{"command":"touch z"}}\\n' * 2)`,
  ],
];
for (const [name, attack] of hostile) {
  test(`loses its channel, and nothing else, by ${name}`, { skip }, async () => {
    const script = `
import os, rpc
try:
    ${attack}
except OSError:
    pass
try:
    for _ in range(3): rpc.call('terminal', command='ls')
    print('goes on')
except rpc.Error as error:
    print(error.code)
print('alive')
`;
    assert.equal((await run(script)).stdout, 'BACKEND_UNAVAILABLE\nalive\n');
    assert.equal((await session.run('echo on')).stdout, 'on\n');
  });
}

test('gets an answer to whatever it writes that has the form of a call', { skip }, async () => {
  const script = `
import os, rpc
for body in (b'', b'null', b'[]', b'{}', b'{"tool":1}', b'{"tool":"terminal","arguments":[]}',
             b'{"tool":"terminal","arguments":{"command":"ls","command":"rm"}}', b'\\xff'):
    os.write(7, b'9 ' + body + b'\\n')
    line = b''
    while not line.endswith(b'\\n'): line += os.read(7, 65536)
    print(line[:2], b'INVALID_PARAMS' in line)
try:
    rpc.call('terminal', command='x' * 2000000)
except rpc.Error as error:
    print(error.code)
try:
    rpc.call('no_such_tool')
except rpc.Error as error:
    print(error.code)
`;
  const { stdout, stderr } = await run(script);
  const wanted = `${"b'9 ' True\n".repeat(8)}QUOTA_EXCEEDED\nINVALID_PARAMS\n`;
  assert.equal(stdout, wanted, stderr);
});

test('takes its open calls with it', { skip }, async () => {
  const script = `
import os, rpc, threading, time
threading.Thread(target=lambda: rpc.call('terminal', command='touch late')).start()
import sys
sys.stdin.read(1)
os._exit(3)
`;
  const { exec_id: id } = (
    await session.client.ask('exec.start', {
      session_id: session.id,
      command: script,
      language: 'python',
      stdin_open: true,
    })
  ).data;
  using client = await raw(daemon.socketPath);
  const pending = async (): Promise<Json[]> =>
    (await client.ask('approval.list', { state: 'pending' })).data.approvals.filter(
      ({ asked }: Json) => asked.command === 'touch late',
    );
  while ((await pending()).length === 0) await sleep(20);
  await client.ask('exec.write', { exec_id: id, data: 'x' });
  while ((await pending()).length > 0) await sleep(20);
  const { approvals } = (await client.ask('approval.list', {})).data;
  const last = approvals.findLast(({ asked }: Json) => asked.command === 'touch late');
  assert.equal(last.state, 'cancelled');
  assert.ok(!existsSync(path.join(daemon.root, 'late')));
});

test('that ends before the question of its call is there leaves none', { skip }, async () => {
  const script = `
import os, rpc, threading, time
for n in range(8):
    threading.Thread(target=lambda: rpc.call('terminal', command='touch late')).start()
time.sleep(0.02)
os._exit(3)
`;
  const params = { session_id: session.id, command: script, language: 'python' };
  await session.client.ask('exec.run', params);
  const pending = async (): Promise<Json[]> =>
    (await session.client.ask('approval.list', { state: 'pending' })).data.approvals;
  // What was on its way has come to its question by then.
  await sleep(600);
  await eventually('the end of them all', async () => (await pending()).length === 0);
});

function holds(file: string, text: string): boolean {
  try {
    return readFileSync(file).includes(text);
  } catch {
    // It has ended meanwhile.
    return false;
  }
}
