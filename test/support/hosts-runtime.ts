/** A runtime whose sessions reach a server of the test under names of the test. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import type { ApprovalView, Client, Receipt, Session } from '../../src/client/index.ts';
import { isTrlError } from '../../src/errors.ts';
import { connectLocal } from '../../src/local/index.ts';
import { startRuntime, type Daemon } from './daemon.ts';
import { eventually } from './processes.ts';

const projects = ['a', 'b', 'c', 'd'];
const hosts = ['one.test', 'two.test', 'three.test', 'denied.test', 'known.test'];
/** `known.test` is allowed by policy, `denied.test` never; the others are asked about. */
const policy = `base: auto
network: { mode: ask, allow: [known.test], deny: [denied.test] }
`;

export interface HostsRuntime extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly client: Client;
  /** `Authorization` of the requests that its server got, in order; none: empty. */
  readonly authorizations: readonly string[];
  /** In a project of its own: `a`, `b`, `c` or `d`. */
  open(project: string, more?: object): Promise<Session>;
  /** The question that a command is met with, or its receipt. */
  run(session: Session, command: string): Promise<ApprovalView | Receipt>;
  /** Approves a command and waits for its end. */
  answer(question: ApprovalView, scope: 'once' | 'session' | 'project'): Promise<void>;
  /** Starts a script that no text of the command shows, and waits for its question. */
  held(session: Session, script: string): Promise<HeldScript>;
}

interface HeldScript {
  readonly receipt: Promise<Receipt>;
  readonly question: ApprovalView;
}

export const receiptOf = (found: ApprovalView | Receipt): Receipt => {
  assert.ok(!('asked' in found), 'it was asked about');
  return found;
};
export const questionOf = (found: ApprovalView | Receipt): ApprovalView => {
  assert.ok('asked' in found, 'it was not asked about');
  return found;
};
export const curl = (host: string): string => `curl -sS -m 10 http://${host}/`;

/** More lines of its configuration and its policy, files, and variables. */
export interface HostsRuntimeOptions {
  /** `{home}`: the runtime's own directory. */
  readonly config?: string;
  /** Files below that directory. */
  readonly files?: Readonly<Record<string, string>>;
  readonly policy?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export async function startHostsRuntime(options: HostsRuntimeOptions = {}): Promise<HostsRuntime> {
  const authorizations: string[] = [];
  const server = createServer((request, response) => {
    const { authorization = request.headers['x-tok'] ?? '' } = request.headers;
    authorizations.push(String(authorization));
    response.setHeader('x-got', request.headers.authorization ?? '');
    response.end(`hello from ${request.headers.host}\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const port = Number(Object(server.address())['port']);
  const connect = hosts.map((name) => `    ${name}: "127.0.0.1:${port}"\n`).join('');
  const roots = projects.map((name) => `--workspace-root={root}/${name}`);
  const daemon = await startRuntime({
    args: ['serve', '--socket-path', '{socket}', ...roots],
    prepare: (home) => {
      const config = path.join(home, 'config/trl');
      mkdirSync(config, { recursive: true });
      for (const name of projects) mkdirSync(path.join(home, 'work', name));
      writeFileSync(
        path.join(config, 'config.yaml'),
        `network:\n  connect:\n${connect}${(options.config ?? '').replaceAll('{home}', home)}`,
      );
      for (const [name, text] of Object.entries(options.files ?? {})) {
        mkdirSync(path.dirname(path.join(home, name)), { recursive: true });
        writeFileSync(path.join(home, name), text);
      }
      writeFileSync(path.join(config, 'policy.yaml'), policy + (options.policy ?? ''));
      return { TRL_POLICY: path.join(config, 'policy.yaml'), ...options.env };
    },
  });
  const client = await connectLocal({ socketPath: daemon.socketPath });
  return {
    daemon,
    client,
    authorizations,
    open: (name, more = {}) =>
      client.createSession({
        working_dir: path.join(daemon.root, name),
        network: 'hosts',
        ...more,
      }),
    run: (session, command) => runOrAsk(client, session, command),
    answer: async ({ approval_id, digest, exec_id }, scope) => {
      await client.decide({ approval_id, digest, decision: 'approve', scope });
      await client.attach(exec_id).drain();
    },
    held: async (session, script) => {
      writeFileSync(path.join(daemon.root, 'd/script.sh'), script);
      const pending = () => client.approvals({ state: 'pending' });
      const before = new Set((await pending()).map(({ approval_id: id }) => id));
      const receipt = session.run('sh script.sh');
      const question = await eventually('a question', async () => {
        const all = await pending();
        return all.find(({ approval_id: id }) => !before.has(id)) ?? null;
      });
      return { receipt, question };
    },
    [Symbol.asyncDispose]: async () => {
      await client.close();
      await daemon.stop();
      server.close();
    },
  };
}

/** The question that a command is met with, or its receipt. */
export async function runOrAsk(
  client: Client,
  session: Session,
  command: string,
): Promise<ApprovalView | Receipt> {
  try {
    return await session.run(command);
  } catch (error) {
    if (!isTrlError(error, 'APPROVAL_REQUIRED')) throw error;
    const found = (await client.approvals({ state: 'pending' })).at(-1);
    assert.ok(found !== undefined);
    return found;
  }
}
