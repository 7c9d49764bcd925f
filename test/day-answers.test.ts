// A piece of an agent's day with what is installed: whoever is there answers what is asked, once.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { Browser, noBrowser } from './support/browser.ts';
import { callOf, nobody } from './support/mcp.ts';
import { eventually } from './support/processes.ts';
import { person, whyNoTerminal } from './support/pty.ts';
import { User } from './support/user.ts';

const bounded = { timeout: 240_000, skip: whyNoBox };
let user: User;
let server: Server;
/** Paths that were asked for. */
const hits: string[] = [];
before(async () => {
  user = new User();
  execFileSync('git', ['init', '-q'], { cwd: user.project });
  server = createServer(({ url = '' }, response) => {
    hits.push(url);
    response.end(`answer to ${url}`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(async () => {
  server.close();
  server.closeAllConnections();
  await user[Symbol.asyncDispose]();
});

type Agent = Awaited<ReturnType<User['agent']>>;

/** What reaches beyond the sandbox, and so is asked about. */
function fetching(name: string): { readonly command: string; readonly network: true } {
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return { command: `curl -sS http://127.0.0.1:${port}/${name}`, network: true };
}

/** What stays in it: nothing is asked. */
async function works(agent: Agent, name: string): Promise<void> {
  const lines = [
    [`mkdir -p src && echo ${name} >src/${name}.txt`, ''],
    [`cat src/*.txt | grep -c ${name}`, '1\n'],
    ['git add -A && git -c user.name=a -c user.email=a@b commit -qm work && git status -s', ''],
    ['rm -rf src && ls', ''],
  ] as const;
  for (const [command, stdout] of lines) {
    const { status, stdout: found, text } = await callOf(agent, 'terminal', { command });
    assert.deepEqual([status, found], ['exited', stdout], text);
  }
}

async function pending(): Promise<string[]> {
  const { stdout } = await user.run(['approvals', 'list', '--json']);
  const { approvals } = JSON.parse(stdout);
  return approvals.map(({ approval_id: id }: { approval_id: string }) => id);
}

/** The call again, which attaches to what was approved. */
async function fetched(agent: Agent, name: string): Promise<void> {
  const done = await callOf(agent, 'terminal', fetching(name));
  assert.deepEqual([done.exit_code, done.stdout], [0, `answer to /${name}`], done.text);
  assert.deepEqual(
    hits.filter((one) => one === `/${name}`),
    [`/${name}`],
  );
  assert.deepEqual(await pending(), []);
}

test(
  'an agent without forms: the answer says what to type, and that does it',
  bounded,
  async () => {
    await using agent = await user.agent();
    await works(agent, 'none');
    const asked = await callOf(agent, 'terminal', fetching('none'));
    assert.equal(asked.status, 'waiting');
    assert.match(asked.text, /trl approvals approve a-[0-9a-f]{32}/);
    // Asked again before anybody answered: the same question.
    const again = await callOf(agent, 'terminal', fetching('none'));
    assert.equal(again.approval_id, asked.approval_id);
    assert.deepEqual(await pending(), [asked.approval_id]);
    assert.deepEqual(hits, []);
    if (whyNoTerminal !== false) return;
    using answers = person(['approvals', 'approve', asked.approval_id], user.env);
    await answers.sees('Type yes');
    answers.types('yes\r');
    assert.equal(await answers.left(), 0);
    await fetched(agent, 'none');
  },
);

test('an agent with forms: its own program asks', bounded, async () => {
  const forms = { ...nobody(), says: 'approve' as const };
  await using agent = await user.agent(forms);
  await works(agent, 'forms');
  await fetched(agent, 'forms');
  assert.equal(forms.seen.length, 1);
  assert.match(forms.seen.join(), /curl -sS .*\/forms/);
});

test(
  'a person who watches in a terminal',
  { ...bounded, skip: whyNoBox === false ? whyNoTerminal : whyNoBox },
  async () => {
    await using agent = await user.agent();
    using inbox = person(['approvals', 'watch'], user.env);
    await works(agent, 'watch');
    const asked = await callOf(agent, 'terminal', fetching('watch'));
    assert.equal(asked.status, 'waiting');
    await inbox.sees('/watch');
    await inbox.sees('[q] quit');
    inbox.types('a');
    await inbox.sees('approved once');
    await fetched(agent, 'watch');
    inbox.types('q');
    assert.equal(await inbox.left(), 0);
  },
);

test(
  'a person in the console, which "trl console" opens',
  { ...bounded, skip: whyNoBox === false ? noBrowser : whyNoBox },
  async () => {
    await using agent = await user.agent();
    const { stdout: link } = await user.run(['console', '--no-open']);
    await using browser = await Browser.start();
    const { page, wrong } = await browser.page();
    await page.goto(link.trim());
    const asked = await callOf(agent, 'terminal', fetching('console'));
    assert.equal(asked.status, 'waiting');
    await page.locator('.question .command', { hasText: '/console' }).waitFor();
    await page.locator('.answer button.approve[aria-disabled=false]').click();
    await page.locator('.outcome.allow').waitFor();
    await fetched(agent, 'console');
    assert.deepEqual(wrong, []);
  },
);

test(
  'the agent and the runtime are killed in the middle: nothing runs twice, nothing is lost',
  bounded,
  async () => {
    const first = await user.agent();
    await callOf(first, 'terminal', { command: 'echo before >kept.txt' });
    const slow = 'echo run >>runs.txt; sleep 1; echo end >>runs.txt';
    await callOf(first, 'terminal', { command: slow, background: true });
    const asked = await callOf(first, 'terminal', fetching('killed'));
    assert.equal(asked.status, 'waiting');
    process.kill(first.serverPid, 'SIGKILL');
    process.kill(user.record().pid, 'SIGKILL');
    await first.close().catch(() => {});
    await using second = await user.agent();
    const command = 'until [ "$(tail -n 1 runs.txt)" = end ]; do sleep 0.1; done; cat kept.txt';
    const { stdout, text } = await callOf(second, 'terminal', { command });
    assert.equal(stdout, 'before\n', text);
    await eventually(
      'the real tree has it',
      () =>
        existsSync(path.join(user.project, 'runs.txt')) &&
        readFileSync(path.join(user.project, 'runs.txt'), 'utf8') === 'run\nend\n',
    );
    // The question is there still, or asked again; either way it is answered once.
    const again = await callOf(second, 'terminal', fetching('killed'));
    assert.equal(again.status, 'waiting');
    assert.ok((await pending()).includes(again.approval_id));
    const withdrawn = await callOf(second, 'terminal_stop', { exec_id: again.exec_id });
    assert.equal(withdrawn.error, undefined, withdrawn.text);
    await eventually('no question', async () => (await pending()).length === 0);
    assert.ok(!hits.includes('/killed'));
  },
);
