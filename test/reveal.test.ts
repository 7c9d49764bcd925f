// What looks like a secret and is none: shown on a person's word, and nothing else with it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { ApprovalView, Client, Session } from '../src/client/index.ts';
import { isTrlError } from '../src/errors.ts';
import { connectLocal } from '../src/local/index.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';
import { callTool, createConversation } from '../src/tools/index.ts';
import type { ToolContext, ToolResult } from '../src/tools/index.ts';
import { startRuntime, surroundings } from './support/daemon.ts';
import type { Daemon, Json } from './support/daemon.ts';

const granted = 'sk-granted-4Jx8Qm2Zt7Wb9Rk5Vn3Hd6Lp';
const value = 'q7Wm2xLp9RtZ4vNc5Kd8Hf3T';
const later = 'Zt7Kd2pQ9sXw4Lm8Vb3Nc6Rh';

let daemon: Daemon;
let client: Client;
before(async () => {
  const names = ['once', 'lasting', 'beyond', 'known', 'nobody'];
  const roots = names.map((name) => `--workspace-root={root}/${name}`);
  daemon = await startRuntime({
    args: ['serve', '--socket-path', '{socket}', ...roots],
    prepare: (home) => {
      for (const name of names) mkdirSync(path.join(home, 'work', name));
      return {};
    },
  });
  client = await connectLocal({ socketPath: daemon.socketPath });
});
after(async () => {
  await client?.close();
  await daemon?.stop();
});

const project = (name: string): string => path.join(daemon.root, name);

interface Agent {
  readonly root: string;
  /** What its person was asked. */
  readonly questions: readonly ApprovalView[];
  read(file: string, more?: object): Promise<ToolResult>;
}

/** An agent whose person answers each question with `scope`, or does not. */
function agentIn(root: string, scope: 'once' | 'project' | 'later'): Agent {
  const questions: ApprovalView[] = [];
  const context: ToolContext = {
    client,
    signal: new AbortController().signal,
    progress: () => {},
    ask: async (approval) => {
      questions.push(approval);
      if (scope === 'later') return 'later';
      if (scope === 'once') return 'approve';
      const { approval_id, digest } = approval;
      await client.decide({ approval_id, digest, decision: 'approve', scope });
      return 'later';
    },
    workspace: { root },
    sessions: createConversation({ client, root, name: `reveal ${path.basename(root)} ${scope}` }),
  };
  const read = (file: string, more = {}) => callTool(context, 'read', { path: file, ...more });
  return { root, questions, read };
}

const trl = (...args: string[]): Json => {
  const env = { ...process.env, ...surroundings(daemon.home) };
  const file = path.join(import.meta.dirname, '..', 'trl');
  return JSON.parse(String(spawnSync(file, args, { env }).stdout));
};

const contentOf = ({ data }: ToolResult): string => String(data['content']);
const sessionIn = (directory: string, more: object = {}): Promise<Session> =>
  client.createSession({ working_dir: directory, policy: 'auto', ...more });

test('a person shows what a file has hidden, once', async () => {
  const agent = agentIn(project('once'), 'once');
  const text = `name=a\napi_key=${value}\n`;
  writeFileSync(path.join(agent.root, 'app.conf'), text);
  assert.ok(!contentOf(await agent.read('app.conf')).includes(value));
  assert.equal(agent.questions.length, 0);

  assert.equal(contentOf(await agent.read('app.conf', { show_hidden: true })), text);
  const question = agent.questions.at(0);
  const rules = question?.verdict.rules.filter(({ decision }) => decision === 'ask') ?? [];
  assert.deepEqual(
    rules.map(({ id }) => id),
    ['reach.reveal'],
  );
  assert.match(rules[0]?.reason ?? '', /^would show what is hidden as \[HIDDEN:[0-9a-f]{6}…\]$/u);
  assert.match(question?.asked.command ?? '', /^# read "app\.conf"\n/u);
  assert.ok(!JSON.stringify(question).includes(value));

  assert.ok(!contentOf(await agent.read('app.conf')).includes(value));
  // Nothing is hidden in it: nobody is asked.
  writeFileSync(path.join(agent.root, 'plain'), 'a\n');
  await agent.read('plain', { show_hidden: true });
  assert.equal(agent.questions.length, 1);
});

test('for the project, every command there shows the values, until the rule is gone', async () => {
  const agent = agentIn(project('lasting'), 'project');
  const file = path.join(agent.root, 'app.conf');
  writeFileSync(file, `api_key=${value}\n`);
  const beyond = project('beyond');
  writeFileSync(path.join(beyond, 'app.conf'), `api_key=${value}\n`);
  const printed = async (directory: string): Promise<string> => {
    const session = await sessionIn(directory);
    return (await session.run('cat app.conf')).stdout;
  };
  assert.ok(!(await printed(agent.root)).includes(value));
  await agent.read('app.conf', { show_hidden: true });
  assert.match(agent.questions[0]?.asked.rule ?? '', /output shows what is hidden as \[HIDDEN:/u);
  assert.equal(await printed(agent.root), `api_key=${value}\n`);
  assert.equal(contentOf(await agent.read('app.conf')), `api_key=${value}\n`);
  assert.ok(!(await printed(beyond)).includes(value));

  // What the file has since then was in no question.
  writeFileSync(file, `api_key=${value}\ndb_password=${later}\n`);
  const both = await printed(agent.root);
  assert.ok(both.includes(value) && !both.includes(later), both);

  const { rules } = trl('policy', 'rules', '--json');
  assert.match(rules[0].text, /^output shows what is hidden as \[HIDDEN:/u);
  trl('policy', 'rules', 'remove', rules[0].id, '--json');
  assert.ok(!(await printed(agent.root)).includes(value));
});

test('a known secret is shown on nobody’s word', async () => {
  const agent = agentIn(project('known'), 'project');
  writeFileSync(path.join(agent.root, 'known.conf'), `api_key=${granted}\n`);
  // A person who lets it be shown where nobody knows it yet.
  await agent.read('known.conf', { show_hidden: true });
  const unknowing = await sessionIn(agent.root);
  assert.ok((await unknowing.run('cat known.conf')).stdout.includes(granted));
  const session = await sessionIn(agent.root, { env: { MINE: granted } });
  const first = await session.run('cat known.conf; echo $MINE');
  assert.ok(!first.stdout.includes(granted));
  assert.deepEqual(
    first.redactions?.entries.filter(({ kind }) => kind === 'known').map(({ digest }) => digest),
    [null],
  );
});

test('without an answer nothing is shown, whatever a call names', async () => {
  const root = project('nobody');
  writeFileSync(path.join(root, 'app.conf'), `api_key=${value}\n`);
  const agent = agentIn(root, 'later');
  const waiting = await agent.read('app.conf', { show_hidden: true });
  assert.ok(!JSON.stringify(waiting).includes(value));
  const session = await sessionIn(root);
  const hidden = await session.run('cat app.conf');
  const [entry] = hidden.redactions?.entries ?? [];
  assert.equal(entry?.digest?.length, 32);
  for (const policy of ['auto', 'guarded'] as const) {
    await assert.rejects(session.run('cat app.conf', { reveal: [entry?.digest ?? ''], policy }), {
      code: 'APPROVAL_REQUIRED',
    });
  }
  const locked = session.run('cat app.conf', { reveal: [entry?.digest ?? ''], policy: 'locked' });
  await assert.rejects(locked, (error) => isTrlError(error, 'POLICY_DENIED'));
  await assert.rejects(session.run('cat app.conf', { reveal: ['8f2a1b'] }), {
    code: 'INVALID_PARAMS',
  });
});

test('a value is named by more digits than its tag has', () => {
  const tags = new RedactionTags(Buffer.alloc(32, 7));
  const [tag, name] = [tags.of(value), tags.nameOf(Buffer.from(value))];
  assert.equal(tag, `[HIDDEN:${name.slice(0, 6)}]`);
  assert.match(name, /^[0-9a-f]{32}$/u);
});
