/** A busy runtime of which one process is killed; then what the log says is held against it. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listLogDirectories } from '../../src/audit/open-log.ts';
import { listSegments } from '../../src/audit/log-files.ts';
import { Busy } from './audit-busy.ts';
import { auditDirectory } from './audit-daemon.ts';
import { addUp, settled, type CrashCounts, type Held } from './audit-told.ts';
import { startRuntime, type Daemon } from './daemon.ts';
import { descendantsOf, processesWhere, runnerPid } from './processes.ts';
import { endRuntime } from './recovery.ts';

const patience = { TRL_RUNNER_LINGER_MS: '60000' };

export const victims = ['daemon', 'runner', 'redactor'] as const;
export type Victim = (typeof victims)[number];

export class KilledAudit implements AsyncDisposable {
  readonly #counts: CrashCounts;
  readonly #busy = new Busy();
  #daemon: Daemon;
  /** Of the last kill, should no daemon take it over. */
  #runner: number | null = null;
  /** Ends that were torn on purpose. */
  #torn = 0;
  #held: Held | null = null;

  private constructor(daemon: Daemon, counts: CrashCounts) {
    this.#daemon = daemon;
    this.#counts = counts;
  }

  static async start(counts: CrashCounts): Promise<KilledAudit> {
    return new KilledAudit(await startRuntime({ env: patience }), counts);
  }

  /** Works for a while, kills one, starts again what is gone, and looks at all of the log. */
  async round(victim: Victim, withinMs: number): Promise<void> {
    const stop = new AbortController();
    const working = this.#busy.work(this.#daemon, stop.signal);
    await this.#busy.moment(working, withinMs);
    this.#runner = runnerPid(this.#daemon);
    if (victim === 'daemon') {
      await this.#daemon.kill();
      if (this.#counts.crashes % 2 === 0) this.#tear();
    } else {
      const pid = this.#pidOf(victim);
      // Between two commands there may be none.
      if (pid !== null) process.kill(pid, 'SIGKILL');
      await sleep(randomInt(100));
    }
    this.#counts.crashes += 1;
    stop.abort();
    await working;
    if (victim === 'daemon') {
      this.#daemon = await startRuntime({ home: this.#daemon.home, env: patience });
    }
    const state = path.join(this.#daemon.home, 'state');
    this.#held = await settled(this.#daemon, this.#busy, state);
    assert.ok(this.#held.repaired >= this.#torn, 'a torn end is told of');
  }

  /** Ends everything and adds what it came to. */
  async end(): Promise<void> {
    if (this.#held !== null) addUp(this.#counts, this.#busy, this.#held);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endRuntime(this.#daemon).catch(() => undefined);
    await this.#daemon.stop();
    // Where no daemon could be started again, its commands go with it.
    const isRunner = /runner\.js /;
    const left = processesWhere((pid) => pid === this.#runner);
    for (const { pid, command } of left) if (isRunner.test(command)) process.kill(pid, 'SIGKILL');
  }

  /** Half a group, as a write that was cut off leaves it. */
  #tear(): void {
    const [first] = listLogDirectories(auditDirectory(this.#daemon.home));
    const segment = first === undefined ? undefined : listSegments(first).at(-1);
    if (segment === undefined) return;
    const lines = readFileSync(segment.file, 'utf8').split('\n');
    const line = lines.findLast((one) => one.startsWith('{"event":')) ?? '';
    if (line === '') return;
    appendFileSync(segment.file, line.slice(0, 1 + randomInt(line.length - 1)));
    this.#torn += 1;
  }

  #pidOf(victim: 'runner' | 'redactor'): number | null {
    const runner = runnerPid(this.#daemon);
    if (victim === 'runner' || runner === null) return runner;
    const isRedactor = /redactor\.js$/;
    return descendantsOf(runner).find(({ command }) => isRedactor.test(command))?.pid ?? null;
  }
}
