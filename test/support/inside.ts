/** The runtime in the test's own process, spoken to over its doors as any caller. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { duplexPair } from 'node:stream';
import type { Caller } from '../../src/command.ts';
import type { Core } from '../../src/daemon/core.ts';
import type { Identities } from '../../src/daemon/access/identities.ts';
import { parseDaemonArgs } from '../../src/daemon/args.ts';
import { Connection } from '../../src/daemon/transport/connection.ts';
import { openCore } from '../../src/daemon/open-core.ts';
import { OwnEnvironment } from '../../src/daemon/own-environment.ts';
import { surroundings, type Json } from './daemon.ts';

export interface Inside extends AsyncDisposable {
  readonly core: Core;
  readonly identities: Identities;
  readonly home: string;
  /** The directory under which sessions may work. */
  readonly root: string;
  /** What the runtime said to its operator. */
  log(): string;
  as(caller: Caller): Asker;
}

/** One connection of one caller. */
export interface Asker extends Disposable {
  /** The whole answer: `{ok, data}` or `{ok, error}`. */
  ask(method: string, params?: object): Promise<Json>;
  /** Event lines so far. */
  readonly events: readonly Json[];
}

/** Who is on the socket. */
export const onSocket: Caller = {
  actor: `uid:${process.getuid?.() ?? 0}`,
  kind: 'agent',
  authenticatedBy: 'socket-owner',
  roles: ['agent'],
};

/** `prepare` is called with the home before the runtime starts. */
export async function startInside(
  env: Readonly<Record<string, string>> = {},
  prepare: (home: string) => void | Promise<void> = () => {},
): Promise<Inside> {
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-')));
  const root = path.join(home, 'work');
  mkdirSync(root);
  Object.assign(process.env, surroundings(home), env);
  await prepare(home);
  let said = '';
  const log = (text: string): void => {
    said += `${text}\n`;
  };
  const own = OwnEnvironment.open();
  const args = parseDaemonArgs(['stdio', '--workspace-root', root], own.env);
  const stateDir = path.join(home, 'state', 'trl');
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const opened = await openCore({ args, own, stateDir, log });
  const { core, identities } = opened;
  await core.adopt();
  const askers = new Set<Disposable>();
  return {
    core,
    identities,
    home,
    root,
    log: () => said,
    as: (caller) => {
      const asker = askerOf(core, caller, log);
      askers.add(asker);
      return asker;
    },
    [Symbol.asyncDispose]: async () => {
      for (const asker of askers) asker[Symbol.dispose]();
      for (const { session_id: id } of core.sessions.list()) {
        await core.sessions.destroy(onSocket, id, true).catch(() => {});
      }
      await core.close();
      await opened.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function askerOf(core: Core, caller: Caller, log: (text: string) => void): Asker {
  const [near, far] = duplexPair();
  const options = { input: far, output: far, caller, runtime: core, version: '0.0.0', log };
  void new Connection(options).serve();
  const waiting = new Map<string, (answer: Json) => void>();
  const events: Json[] = [];
  let rest = '';
  let count = 0;
  near.setEncoding('utf8').on('data', (text: string) => {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const message: Json = JSON.parse(line);
      const heard = waiting.get(message.id);
      if (heard === undefined) events.push(message);
      else heard(message);
    }
  });
  return {
    events,
    ask: (method, params = {}) => {
      count += 1;
      const id = String(count);
      near.write(`${JSON.stringify({ id, method, params })}\n`);
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    [Symbol.dispose]: () => {
      near.destroy();
      far.destroy();
    },
  };
}
