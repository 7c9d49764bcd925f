/**
 * Commands and a person write in one tree, on a disk that loses its power with the records of the
 * runtime. Afterwards no file is empty or torn; what was on the disk before is there, and so is
 * what a receipt called applied before all was written out. The store has the contents of each.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cutPower, endAll, makeDisk } from './audit-power.ts';
import { raw, startRuntime, type Daemon, type Json } from './daemon.ts';
import { openSession, type TestSession } from './session.ts';

/** Apart: the tree is on another mount than the runtime's state, so nothing is made beside it. */
type Place = 'beside' | 'apart';

const mount = `mkdir -p "$0/fs" && mount -o loop "$0/disk.img" "$0/fs" &&
  mkdir -p -m 700 "$0/fs/state" "$0/fs/work" &&
  if [ -e "$0/apart" ]; then mount --bind "$0/fs/work" "$0/fs/work"; fi && exec "$@"`;
const within = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', mount, '{home}'];
const args = ['serve', '--socket-path', '{socket}', '--workspace-root', '{home}/fs/work'];
const env = { TRL_RUNNER_LINGER_MS: '60000' };
const lines = 400;

const whole = (word: string): string => `${`${word}\n`.repeat(lines)}end\n`;

export interface PowerCuts {
  cuts: number;
  receipts: number;
  /** Of files that were applied after all was written out, and are there or not. */
  there: number;
  gone: number;
}

interface Acknowledged {
  readonly exec: string;
  readonly generation: number;
}

export class PoweredWriters implements AsyncDisposable {
  #daemon: Daemon;
  readonly #counts: PowerCuts;
  #generation = 0;
  readonly #acknowledged: Acknowledged[] = [];
  /** Lines of the person that were on the disk. */
  readonly #theirs: string[] = [];

  private constructor(daemon: Daemon, counts: PowerCuts) {
    this.#daemon = daemon;
    this.#counts = counts;
  }

  static async start(counts: PowerCuts, place: Place): Promise<PoweredWriters> {
    return new PoweredWriters(await start(undefined, place), counts);
  }

  /** @param writtenOut whether all is written out in the middle */
  async round(withinMs: number, writtenOut: boolean): Promise<void> {
    const daemon = this.#daemon;
    const session = await openSession(daemon.socketPath, {
      working_dir: path.join(daemon.home, 'fs/work'),
    });
    let durable = this.#generation;
    const until = performance.now() + withinMs;
    for (let at = 0; performance.now() < until || at < 3; at += 1) {
      await Promise.all([this.#command(session), this.#person(3)]);
      if (at !== 1 || !writtenOut) continue;
      assert.equal(spawnSync('sync', ['-f', this.#tree]).status, 0);
      durable = this.#generation;
    }
    cutPower(this.#tree);
    await endAll(daemon);
    session.client.drop();
    this.#daemon = await start(daemon.home);
    this.#counts.cuts += 1;
    this.#look(durable);
    await this.#lookAtStore();
  }

  async #command(session: TestSession): Promise<void> {
    const generation = (this.#generation += 1);
    const print = `w() { yes "$1" | head -n ${lines}; echo end; }`;
    const command = `${print}; w ${generation} >f; w ${generation} >g${generation}
      echo "c ${generation}" >>log`;
    const receipt = await session.run(command);
    const states = receipt.changes.map(({ path: name, state }: Json) => `${name} ${state}`);
    const wanted = ['f', `g${generation}`, 'log'].map((name) => `${name} applied`);
    // A person has the log open for a moment, again and again.
    if (!states.includes('log applied')) wanted.splice(2, 1, 'log conflict');
    assert.deepEqual(states.toSorted(), wanted.toSorted());
    this.#acknowledged.push({ exec: receipt.exec_id, generation });
    this.#counts.receipts += 1;
  }

  /** Adds lines and sees to it that they are on the disk. */
  async #person(count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      await sleep(20);
      const line = `p ${this.#theirs.length}`;
      const fd = openSync(path.join(this.#tree, 'log'), 'a');
      writeSync(fd, `${line}\n`);
      fsyncSync(fd);
      closeSync(fd);
      this.#theirs.push(line);
    }
  }

  get #tree(): string {
    return path.join('/proc', String(this.#daemon.pid), 'root', this.#daemon.home, 'fs/work');
  }

  #look(durable: number): void {
    const read = (name: string): string => readFileSync(path.join(this.#tree, name), 'utf8');
    const names = new Set(readdirSync(this.#tree));
    for (const { generation } of this.#acknowledged) {
      const name = `g${generation}`;
      if (generation <= durable) assert.ok(names.has(name), `${name} was written out and is gone`);
      this.#counts[names.has(name) ? 'there' : 'gone'] += 1;
      if (names.has(name)) assert.equal(read(name), whole(String(generation)), `${name} is torn`);
    }
    if (names.has('f')) {
      const found = read('f');
      const generation = Number(found.split('\n')[0]);
      assert.equal(found, whole(String(generation)), `f is torn: ${found.length} bytes`);
      assert.ok(generation >= durable, `f is of ${generation}, and ${durable} was written out`);
    } else assert.equal(durable, 0);
    const log = new Set(read('log').split('\n'));
    const lost = this.#theirs.filter((line) => !log.has(line));
    assert.deepEqual(lost, [], 'lines of the person that were on the disk are gone');
    this.#theirs.splice(0, Infinity, ...this.#theirs.filter((line) => log.has(line)));
  }

  async #lookAtStore(): Promise<void> {
    using client = await raw(this.#daemon.socketPath);
    for (const { exec, generation } of this.#acknowledged.splice(0)) {
      const found = await client.ask('snapshot.get', { exec_id: exec, content: 'f' });
      assert.equal(found.ok, true, `${exec} has no contents: ${JSON.stringify(found)}`);
      const text = Buffer.from(found.data.content.base64, 'base64').toString();
      assert.equal(text, whole(String(generation)));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endAll(this.#daemon).catch(() => undefined);
    await this.#daemon.stop();
  }
}

async function start(home: string | undefined, place: Place = 'beside'): Promise<Daemon> {
  const prepare = (made: string): Record<string, string> => {
    if (home === undefined) makeDisk(made);
    if (home === undefined && place === 'apart') spawnSync('touch', [path.join(made, 'apart')]);
    return { XDG_STATE_HOME: path.join(made, 'fs/state') };
  };
  return startRuntime({ ...(home === undefined ? {} : { home }), args, within, env, prepare });
}
