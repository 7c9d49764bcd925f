/**
 * A daemon or its runner is killed while two sessions are busy in one directory; then all of it is
 * started again and looked at. Every file tells by itself whether it is whole.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { raw, startRuntime, type Daemon, type Json, type RawClient } from './daemon.ts';
import { eventually, noneLeft, processesWith, runnerPid } from './processes.ts';
import { filesOf } from './second-writer.ts';
import { endRuntime } from './recovery.ts';

const patience = { TRL_RUNNER_LINGER_MS: '60000' };
const files = 12;

/** Writes generation `$g` of everything below `$d`, each file at once under its name. */
const work = `w() {
    { echo "$g"; yes "$g" | head -n 3000; echo "end $g"; } >"$1.part"
    mv "$1.part" "$1"
  }
  mkdir -p $d/n$g/in; for i in $(seq ${files}); do w $d/f$i; done
  w $d/n$g/in/x; mv $d/n$g/in $d/n$g/out
  if [ $((g % 3)) = 0 ]; then rm -rf $d/n[0-9]*; fi; ln -sfn n$g $d/last; w $d/whole`;

const commandOf = (dir: string, generation: number): string => `d=${dir}; g=${generation}; ${work}`;

export interface Kills {
  daemon: number;
  runner: number;
  /** Commands that ended, and that were under way at a kill. */
  commands: number;
  met: number;
}

interface Worker {
  readonly session: string;
  readonly dir: string;
  generation: number;
  /** The last that is known to have ended. */
  done: number;
  /** What stood after the last kill, until another ends: several, where it met one at work. */
  stood: number[];
}

export class KilledRuntime implements AsyncDisposable {
  #daemon: Daemon;
  readonly #workers: readonly Worker[];
  readonly #kills: Kills;

  private constructor(daemon: Daemon, workers: readonly Worker[], kills: Kills) {
    this.#daemon = daemon;
    this.#workers = workers;
    this.#kills = kills;
  }

  static async start(kills: Kills): Promise<KilledRuntime> {
    const daemon = await startRuntime({ env: patience });
    const workers: Worker[] = [];
    using client = await raw(daemon.socketPath);
    for (const dir of ['one', 'two']) {
      mkdirSync(path.join(daemon.root, dir));
      const { data } = await client.ask('session.create', {
        shell: '/bin/bash',
        working_dir: daemon.root,
      });
      workers.push({ session: data.session_id, dir, generation: 0, done: 0, stood: [] });
    }
    const made = new KilledRuntime(daemon, workers, kills);
    const [first] = workers;
    // What waits, before anything is killed.
    const waits = {
      session_id: first?.session,
      command: 'echo s >one/staged',
      workspace_mode: 'staged',
    };
    await told(client, 'exec.run', waits);
    await told(client, 'exec.run', { session_id: first?.session, command: 'echo "x=1" >.envrc' });
    return made;
  }

  /** Works for a while, kills one of the two, starts again and looks at everything. */
  async round(which: 'daemon' | 'runner', withinMs: number): Promise<void> {
    const runner = runnerPid(this.#daemon) ?? 0;
    const stop = new AbortController();
    const busy = this.#workers.map((worker) => this.#work(worker, stop.signal));
    await sleep(randomInt(withinMs));
    this.#kills.met += this.#workers.filter(({ generation, done }) => generation > done).length;
    this.#kills[which] += 1;
    if (which === 'runner') process.kill(runner, 'SIGKILL');
    else await this.#daemon.kill();
    stop.abort();
    await Promise.all(busy);
    if (which === 'daemon') {
      const { home } = this.#daemon;
      this.#daemon = await startRuntime({ home, env: patience });
    }
    using client = await raw(this.#daemon.socketPath);
    await eventually('the end of what ran', async () => {
      const { execs } = await told(client, 'exec.list', {});
      return execs.every(({ state }: Json) => state !== 'running');
    });
    for (const worker of this.#workers) await this.#check(client, worker, which);
  }

  /** Commands one after the other, and now and then one beside them, until the kill. */
  async #work(worker: Worker, signal: AbortSignal): Promise<void> {
    using client = await raw(this.#daemon.socketPath);
    try {
      while (!signal.aborted) {
        worker.generation += 1;
        const { session: session_id, dir } = worker;
        if (dir === 'two') {
          const command = `g=${worker.generation}; d=two/beside; mkdir -p $d; ${work}`;
          await client.ask('exec.start', { session_id, command });
        }
        const command = commandOf(dir, worker.generation);
        const answer = await client.ask('exec.run', { session_id, command });
        if (answer.data?.exit_code !== 0) return;
        worker.done = worker.generation;
        worker.stood = [];
        this.#kills.commands += 1;
      }
    } catch {
      // The connection ended with the daemon.
    }
  }

  async #check(client: RawClient, worker: Worker, which: 'daemon' | 'runner'): Promise<void> {
    const { session: session_id, dir } = worker;
    const next = await told(client, 'exec.run', { session_id, command: 'cat one/f1 | head -n 1' });
    assert.equal(next.exit_code, 0, `the next command: ${JSON.stringify(next)}`);
    const status = await told(client, 'workspace.status', { session_id });
    if (dir === 'one') {
      assert.deepEqual(named(status.held), ['.envrc'], JSON.stringify(status));
      assert.ok(named(status.staged).includes('one/staged'), JSON.stringify(status));
    }
    const lost = await this.#discardLost(client, session_id);
    assert.ok(which === 'runner' || lost.length === 0, `lost: ${JSON.stringify(lost)}`);
    const tree = filesOf(this.#daemon.root);
    assert.deepEqual(
      Object.keys(tree).filter((name) => name.includes('.trl-')),
      [],
    );
    const own = Object.entries(tree).filter(([name]) => name.startsWith(`${dir}/`));
    const generations = own.flatMap(([name, text]) => wholeOf(name, text));
    if (dir === 'one') {
      const met = generations.filter(([name]) => /^one\/(f\d+|whole)$/.test(name));
      const right = [worker.done, worker.generation, ...worker.stood];
      const odd = met.filter(([, generation]) => !right.includes(generation));
      assert.deepEqual(odd, [], `${which}: generations other than ${right.join(', ')}`);
      // What runs on to its end is applied as a whole.
      const all = new Set(met.map(([, generation]) => generation));
      assert.ok(which === 'runner' || all.size <= 1, `of several: ${JSON.stringify(met)}`);
      // The last one may not have begun.
      worker.done = Math.min(worker.generation, ...all);
      worker.stood = [...all];
    }
    const sums = `find ${dir} -type f ! -name staged -exec sha256sum {} + | sort`;
    const seen = await told(client, 'exec.run', { session_id, command: sums });
    const real = realSums(this.#daemon.root, sums);
    if (seen.stdout === real) return;
    const now = await told(client, 'workspace.status', { session_id });
    const { snapshots } = await told(client, 'snapshot.list', { session_id, limit: 4 });
    const last = snapshots.map(({ exec_id }: Json) => exec_id);
    const records: Json[] = [];
    for (const exec_id of last) records.push(await told(client, 'snapshot.get', { exec_id }));
    const story = JSON.stringify({ which, lost, now, records }, null, 1);
    assert.equal(seen.stdout, real, `the session and the real tree differ: ${story}`);
  }

  /** Throws away what was left by commands whose end nobody saw; answers what it was. */
  async #discardLost(client: RawClient, session_id: string): Promise<string[]> {
    const all: string[] = [];
    // What was still being written when it was found is found again.
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const { staged } = await told(client, 'workspace.status', { session_id });
      const paths = named(staged).filter((name) => name !== 'one/staged');
      if (paths.length === 0) return all;
      all.push(...paths);
      await told(client, 'workspace.discard', { session_id, paths });
      await told(client, 'exec.run', { session_id, command: 'true' });
    }
    throw new Error(`it is still there: ${all.join(', ')}`);
  }

  /** Ends everything; answers what is left of it. */
  async end(): Promise<{ layers: string[]; mounts: string[]; processes: string[] }> {
    const { home, socketPath } = this.#daemon;
    using client = await raw(socketPath);
    for (const { session } of this.#workers) {
      await told(client, 'session.destroy', { session_id: session, force: true });
    }
    const layers = path.join(home, 'state', 'trl');
    const left = readdirSync(layers, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /layers\/./.test(name),
    );
    await this.#daemon.stop();
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
    const isOurs = (): ReturnType<typeof processesWith> =>
      processesWith(`XDG_STATE_HOME=${path.join(home, 'state')}`);
    const processes = await noneLeft(isOurs);
    return {
      layers: left,
      mounts: mounts.filter((line) => line.includes(home)),
      processes: processes.map(({ command }) => command),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endRuntime(this.#daemon).catch(() => undefined);
  }
}

const named = (changes: readonly Json[]): string[] => changes.map((one) => one.path);

async function told(client: RawClient, method: string, params: object): Promise<Json> {
  const answer = await client.ask(method, params);
  assert.equal(answer.ok, true, `${method}: ${JSON.stringify(answer)}`);
  return answer.data;
}

/** Which generation a file is of; fails where it is of two, or has no end. */
function wholeOf(name: string, text: string): [string, number][] {
  const isOther = name === 'one/staged' || /(?:\/|\.part|\/last)$/.test(name);
  if (isOther) return [];
  const lines = text.split('\n');
  const [first = ''] = lines;
  const isWhole =
    lines.length === 3_003 &&
    lines.slice(0, 3_001).every((line) => line === first) &&
    lines[3_001] === `end ${first}`;
  assert.ok(isWhole, `"${name}" is torn: ${lines.length} lines, first ${first}`);
  return [[name, Number(first)]];
}

function realSums(root: string, script: string): string {
  return execFileSync('/bin/sh', ['-c', script], { cwd: root, encoding: 'utf8' });
}
