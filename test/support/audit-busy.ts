/**
 * Clients that keep a runtime busy, and remember what it told them: short and long commands, in a
 * sandbox and without one, writes, questions to a person. Each command leaves a file of its own.
 */
import { randomInt } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { raw, type Daemon, type Json, type RawClient } from './daemon.ts';
import { eventually } from './processes.ts';

/** What a client got of one command that ended. */
export interface ToldReceipt {
  readonly exec: string;
  readonly log: string;
  readonly seq: number;
  readonly leaf: string;
  readonly head: string;
}

/** Below the workspace: what each command leaves there first. */
export const marks = 'marks';

const kinds = ['direct', 'boxed', 'long', 'asked'] as const;
type Kind = (typeof kinds)[number];

const sessionOf: Readonly<Record<Kind, object>> = {
  // What it leaves is on the host at once, whatever becomes of the runtime.
  direct: { sandbox: 'none' },
  boxed: {},
  long: {},
  asked: { policy: 'guarded' },
};

const commandOf: Readonly<Record<Kind, (mark: string) => string>> = {
  direct: (mark) => `touch ${mark}; echo one; echo two >&2`,
  boxed: (mark) => `echo $RANDOM >${mark}; mkdir -p made; cp ${mark} made/latest; cat ${mark}`,
  long: (mark) => `touch ${mark}; for i in 1 2 3 4 5 6 7; do echo tick $i; sleep 0.2; done`,
  asked: (mark) => `for i in 1 2; do touch ${mark}; done`,
};

export class Busy {
  readonly receipts = new Map<string, ToldReceipt>();
  /** Every head that any client got. */
  readonly heads = new Set<string>();
  /** Commands that were asked for. */
  asked = 0;
  readonly #sessions = new Map<Kind, string>();
  #count = 0;
  #moments = 0;

  /** Works until it is told to stop or the daemon goes. */
  async work(daemon: Daemon, signal: AbortSignal): Promise<void> {
    mkdirSync(path.join(daemon.root, marks), { recursive: true });
    await Promise.all(kinds.map((kind) => this.#worker(daemon, kind, signal)));
  }

  /** Waits for a random moment of the work, every other time only after something has ended. */
  async moment(working: Promise<void>, withinMs: number): Promise<void> {
    const before = this.receipts.size;
    const over = { isSo: false };
    void working.then(() => (over.isSo = true));
    const isUnderWay = (): boolean => over.isSo || this.receipts.size > before;
    this.#moments += 1;
    if (this.#moments % 2 === 1) await eventually('the first receipt', isUnderWay);
    await sleep(randomInt(withinMs));
  }

  /** What the daemon answers of all it knows, as a client asks that comes back after a crash. */
  async look(client: RawClient): Promise<readonly Json[]> {
    const { execs } = (await client.ask('exec.list', {})).data;
    for (const one of execs) {
      const { data } = await client.ask('exec.info', { exec_id: one.exec_id });
      if (data?.receipt !== undefined) this.#keep(data.receipt);
    }
    return execs;
  }

  async #worker(daemon: Daemon, kind: Kind, signal: AbortSignal): Promise<void> {
    try {
      using client = await raw(daemon.socketPath);
      while (!signal.aborted) await this.#command(client, kind, daemon.root);
    } catch {
      // The connection ended with the daemon.
    }
  }

  async #command(client: RawClient, kind: Kind, root: string): Promise<void> {
    const session_id = await this.#session(client, kind, root);
    this.#count += 1;
    const command = commandOf[kind](`${marks}/m${this.#count}-`);
    this.asked += 1;
    const method = kind === 'long' ? 'exec.start' : 'exec.run';
    const answer = await client.ask(method, { session_id, command });
    const code = answer.error?.code;
    if (code === 'SESSION_NOT_FOUND') this.#sessions.delete(kind);
    if (code === 'APPROVAL_REQUIRED') await this.#approve(client, answer.data);
    if (kind === 'long') {
      if (answer.ok === true) await this.#wait(client, answer.data.exec_id);
    } else if (answer.data?.audit !== undefined) {
      this.#keep(answer.data);
    }
  }

  async #session(client: RawClient, kind: Kind, root: string): Promise<string> {
    const known = this.#sessions.get(kind);
    if (known !== undefined) return known;
    const params = { shell: '/bin/bash', working_dir: root, ...sessionOf[kind] };
    const answer = await client.ask('session.create', params);
    if (answer.ok !== true) throw new Error(`no session: ${JSON.stringify(answer)}`);
    const id: string = answer.data.session_id;
    this.#sessions.set(kind, id);
    return id;
  }

  async #approve(client: RawClient, { approval_id: id, exec_id: exec }: Json): Promise<void> {
    const { digest } = (await client.ask('approval.get', { approval_id: id })).data;
    const yes = { approval_id: id, decision: 'approve', digest };
    await client.ask('approval.decide', yes);
    await this.#wait(client, exec);
  }

  async #wait(client: RawClient, exec_id: string): Promise<void> {
    for (;;) {
      const { data } = await client.ask('exec.info', { exec_id });
      if (data?.receipt !== undefined) this.#keep(data.receipt);
      if (data?.state !== 'running' && data?.state !== 'waiting') return;
      await sleep(50);
    }
  }

  #keep({ exec_id: exec, audit }: Json): void {
    if (audit === null || audit === undefined) throw new Error(`${exec} was told unrecorded`);
    this.receipts.set(exec, { exec, ...audit });
    this.heads.add(audit.head);
  }
}
