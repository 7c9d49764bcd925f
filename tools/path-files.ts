/**
 * Counts the files and folders of `src` whose code runs on the way of one command, one piece of
 * output, one approval and one HTTP request, as V8 counts calls: what a reader may have to follow.
 *
 *   tools/path-files.ts [REVISION]    default: HEAD
 *
 * The revision is checked out beside the repository, its bundles are built, and each program counts
 * the calls of its functions from one signal to the next. What only runs at start-up is not
 * counted. One more line names the files of each path with `--names`.
 */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const checkout = path.dirname(import.meta.dirname);
const programs = ['daemon', 'runner', 'redactor', 'egress'] as const;
const token = randomBytes(24).toString('hex');

/** Loaded before each program: writes what ran since the last signal, by script and offset. */
const counter = (counts: string): string => `
import inspector from 'node:inspector';
import { renameSync, writeFileSync } from 'node:fs';
const session = new inspector.Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
let turn = 0;
process.on('SIGWINCH', () => session.post('Profiler.takePreciseCoverage', (error, found) => {
  const ours = (found?.result ?? []).filter(({ url }) => url.includes('/dist/'));
  const ran = ours.map(({ url, functions }) => ({
    url,
    offsets: functions.flatMap(({ functionName, ranges: [first] }, at) =>
      at > 0 && first.count > 0 ? [first.startOffset] : []),
  }));
  const file = ${JSON.stringify(counts)} + '/' + process.pid + '-' + turn++ + '.json';
  writeFileSync(file + '.new', JSON.stringify(ran));
  renameSync(file + '.new', file);
}));
`;

interface Ran {
  readonly url: string;
  readonly offsets: readonly number[];
}

/** The source file in which a bundle has the code at `offset`: esbuild heads each by its name. */
function sourceAt(bundle: string, offset: number): string | null {
  const before = bundle.slice(0, offset);
  const at = before.lastIndexOf('\n// ');
  const named = at === -1 ? '' : bundle.slice(at + 4, bundle.indexOf('\n', at + 4));
  return named.startsWith('src/') ? named : null;
}

class Scene {
  readonly home: string;
  readonly tree: string;
  readonly #counts: string;

  constructor(home: string, tree: string) {
    this.home = home;
    this.tree = tree;
    this.#counts = path.join(home, 'counts');
    mkdirSync(this.#counts);
  }

  /** Puts the counter before each bundled program. */
  instrument(): void {
    const file = path.join(this.home, 'counter.mjs');
    writeFileSync(file, counter(this.#counts));
    for (const program of programs) {
      const bundle = path.join(this.tree, `dist/${program}.js`);
      renameSync(bundle, bundle.replace('.js', '-counted.js'));
      const counted = bundle.replace('.js', '-counted.js');
      writeFileSync(bundle, `import '${file}';\nawait import(${JSON.stringify(counted)});\n`);
    }
  }

  /** Which files ran since the last call. */
  async taken(): Promise<Set<string>> {
    const pids = this.#pids();
    for (const file of readdirSync(this.#counts)) rmSync(path.join(this.#counts, file));
    for (const pid of pids) process.kill(pid, 'SIGWINCH');
    const isThere = (): boolean =>
      readdirSync(this.#counts).filter((file) => file.endsWith('.json')).length >= pids.length;
    for (let tries = 0; !isThere() && tries < 200; tries += 1) await sleep(25);
    const files = new Set<string>();
    for (const name of readdirSync(this.#counts)) {
      const ran: Ran[] = JSON.parse(readFileSync(path.join(this.#counts, name), 'utf8'));
      for (const { url, offsets } of ran) {
        const bundle = readFileSync(new URL(url), 'utf8');
        for (const offset of offsets) {
          const source = sourceAt(bundle, offset);
          if (source !== null) files.add(source);
        }
      }
    }
    return files;
  }

  /** Of the programs that this scene started: they name its tree, or read it from a pipe. */
  #pids(): number[] {
    return readdirSync('/proc').flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const words = readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0');
        const isOurs = words.some((word) =>
          programs.some((program) => word === path.join(this.tree, `dist/${program}.js`)),
        );
        return isOurs ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
  }
}

/** One request after the other over the socket, in the oldest form of the protocol. */
class Wire implements Disposable {
  readonly #socket;
  readonly #lines;

  constructor(socketPath: string) {
    this.#socket = connect(socketPath);
    this.#lines = createInterface({ input: this.#socket })[Symbol.asyncIterator]();
  }

  async call(method: string, params: object): Promise<Record<string, unknown>> {
    this.#socket.write(`${JSON.stringify({ id: '1', method, params })}\n`);
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error(`no answer to ${method}`);
      const answer = JSON.parse(value);
      if (answer.id === '1') return answer.ok === true ? answer.data : { error: answer.error };
    }
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

async function measure(scene: Scene, port: number): Promise<Map<string, Set<string>>> {
  const socket = path.join(scene.home, 'trl.sock');
  const env = { ...process.env, HOME: scene.home, XDG_STATE_HOME: path.join(scene.home, 'state') };
  const work = path.join(scene.home, 'work');
  mkdirSync(work);
  const daemon = spawn(
    process.execPath,
    [
      '--experimental-sqlite',
      path.join(scene.tree, 'dist/daemon.js'),
      'serve',
      '--socket-path',
      socket,
      '--workspace-root',
      work,
      '--http',
      `127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...env, TRL_AUTH_TOKEN: token } },
  );
  const found = new Map<string, Set<string>>();
  try {
    while (!existsSync(socket)) {
      if (daemon.exitCode !== null) throw new Error('the daemon did not start');
      await sleep(50);
    }
    using wire = new Wire(socket);
    const session = await wire.call('session.create', { working_dir: work });
    const of = { session_id: session['session_id'] };
    const run = (command: string, more: object = {}): Promise<Record<string, unknown>> =>
      wire.call('exec.run', { ...of, command, ...more });
    for (let warm = 0; warm < 3; warm += 1) await run('true');
    await scene.taken();
    await run('true');
    found.set('a command, from its request to its receipt', await scene.taken());

    const { exec_id: id } = await wire.call('exec.start', {
      ...of,
      command: 'read x; echo "$x"; read y',
    });
    const read = (): Promise<unknown> =>
      wire.call('exec.read', { exec_id: id, from: 0, wait_ms: 2_000 });
    await sleep(500);
    await wire.call('exec.write', { exec_id: id, data: 'byte\n' });
    await sleep(500);
    await scene.taken();
    await read();
    found.set('output that is read', await scene.taken());
    await wire.call('exec.write', { exec_id: id, data: 'end\n' });

    const asking = await wire.call('session.create', { working_dir: work, policy: 'guarded' });
    const asked = {
      session_id: asking['session_id'],
      command: 'touch made-by-an-approved-command',
    };
    await wire.call('exec.run', { ...asked, exec_key: 'first' });
    await sleep(500);
    await scene.taken();
    const waiting = await wire.call('approval.list', {});
    const list: unknown = waiting['approvals'];
    const first: unknown = Array.isArray(list) ? list[0] : null;
    if (typeof first !== 'object' || first === null) throw new Error('nothing waits for approval');
    const { approval_id, digest } = Object.fromEntries(Object.entries(first));
    const answer = { approval_id, digest, decision: 'approve' };
    const decided = await wire.call('approval.decide', answer);
    if (decided['error'] !== undefined) console.error(JSON.stringify(decided['error']));
    await sleep(1_500);
    found.set('an approval, from its answer to the end of the command', await scene.taken());

    const get = (): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/sessions`, {
        headers: { authorization: `Bearer ${token}` },
      });
    await (await get()).text();
    await scene.taken();
    await (await get()).text();
    found.set('an HTTP request (GET /v1/sessions)', await scene.taken());
    return found;
  } finally {
    daemon.kill('SIGTERM');
    if (daemon.exitCode === null) await once(daemon, 'exit');
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { names: { type: 'boolean' } },
});
const revision = positionals[0] ?? 'HEAD';
const home = mkdtempSync(path.join(tmpdir(), 'trl-path-'));
chmodSync(home, 0o700);
const tree = path.join(home, 'tree');
const git = (...args: string[]): void => void execFileSync('git', ['-C', checkout, ...args]);
git('worktree', 'add', '--quiet', '--detach', tree, revision);
try {
  symlinkSync(path.join(checkout, 'node_modules'), path.join(tree, 'node_modules'));
  execFileSync(path.join(tree, 'tools/build-runner'));
  const scene = new Scene(home, tree);
  scene.instrument();
  const found = await measure(scene, 20_000 + (process.pid % 20_000));
  console.log(`${revision}: files, folders of src that they are in`);
  for (const [what, files] of found) {
    const folders = new Set([...files].map((file) => path.dirname(file)));
    console.log(`${String(files.size).padStart(6)} ${String(folders.size).padStart(4)}  ${what}`);
    if (values.names === true) for (const file of [...files].toSorted()) console.log(`    ${file}`);
  }
} finally {
  git('worktree', 'remove', '--force', tree);
  rmSync(home, { recursive: true, force: true });
}
