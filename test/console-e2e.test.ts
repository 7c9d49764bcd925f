/** The console as a person uses it: in a real browser, over the real door, with a real agent. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Client } from '../src/client/index.ts';
import { connectLocal } from '../src/local/index.ts';
import { Browser, consoleLink, noBrowser } from './support/browser.ts';
import type { Watched } from './support/browser.ts';
import { whyNoBox } from './support/box.ts';
import { playScene } from './support/console-scene.ts';
import type { Scene } from './support/console-scene.ts';
import { startRuntime } from './support/daemon.ts';
import type { Daemon } from './support/daemon.ts';

const whyNot = noBrowser === false ? whyNoBox : noBrowser;
const options = { skip: whyNot };
let daemon: Daemon;
let agent: Client;
let browser: Browser;
let person: Watched;
let scene: Scene;

before(async () => {
  if (whyNot !== false) return;
  [daemon, browser] = await Promise.all([
    startRuntime({ env: { TRL_POLICY: 'guarded' } }),
    Browser.start(),
  ]);
  agent = await connectLocal({ socketPath: daemon.socketPath });
  person = await browser.page();
});
after(async () => {
  await agent?.close();
  await browser?.[Symbol.asyncDispose]();
  await daemon?.stop();
});

/** The others say the same in both themes: the page is the same. */
const colourRules = ['color-contrast', 'link-in-text-block'];

async function open(address: string): Promise<void> {
  await person.page.evaluate(`location.hash = '#/${address}'`);
}

/** Until an answer to what is read counts. */
async function mayAnswer(): Promise<void> {
  await person.page.locator('.answer button.approve[aria-disabled=false]').waitFor();
}

/** Asks for `command`, and goes on with its result when a person has answered. */
function ask(command: string): Promise<unknown> {
  const asked = agent.createSession({ name: 'build', working_dir: daemon.root });
  const run = asked.then((session) => session.run(command, { wait_ms: 120_000 }));
  return run.catch((error: unknown) => error);
}

test('a link signs in once, and its code stays nowhere', options, async () => {
  const link = await consoleLink(daemon);
  const code = link.split('=').at(-1) ?? '';
  await person.page.goto(link);
  await person.sees('Live');
  assert.match(person.page.url(), /\/#\/approvals$/);
  assert.ok(!(await person.everything()).includes(code));
  assert.deepEqual(await person.page.context().cookies(), []);
  await person.sees('Nothing waits for you');

  const other = await browser.page();
  await other.page.goto(link);
  await other.sees('This link was used already, or is too old.');
  await other.sees('trl console');
  assert.deepEqual(await other.axe(), []);
  await other.page.close();
});

test('a token that is not taken, or no more, is told as that', options, async () => {
  const other = await browser.page();
  const { page } = other;
  const signedOut = 'You are signed out: the login has ended or was revoked.';
  await page.goto(await consoleLink(daemon));
  await other.sees('Live');
  // Taken back while it is followed.
  const status = await page.evaluate(async () => {
    const { token } = JSON.parse(sessionStorage.getItem('trl.login') ?? '{}');
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch('/v1/login', { method: 'DELETE', headers })).status;
  });
  assert.equal(status, 200);
  await other.sees(signedOut);
  // Wrong from the start.
  await page.evaluate(() => {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const login = { token: 'x'.repeat(40), expires_at, actor: 'person:nobody', roles: [] };
    sessionStorage.setItem('trl.login', JSON.stringify(login));
  });
  await page.reload();
  await other.sees(signedOut);
  assert.equal(await page.getByText('Connection lost').count(), 0);
  await page.close();
});

test('a command is read, approved by key, watched, and found in the log', options, async () => {
  const { page } = person;
  const command = String.raw`printf '\033[32mgreen\033[0m <b>x</b>\n' | cat`;
  const first = ask(command);
  await page.locator('.question .command').waitFor();
  // A key that is pressed at once answers nothing: nobody can have read it.
  await page.keyboard.press('a');
  await page.locator('.answer .hint').waitFor();
  assert.equal((await page.locator('.question .command').innerText()).trim(), command);
  assert.match(await page.title(), /^\(1\) Approvals/);
  assert.ok((await page.locator('.question mark').count()) > 0);
  await mayAnswer();
  await page.keyboard.press('a');
  await page.locator('.outcome.allow').waitFor();
  const receipt = await first;
  assert.ok(!(receipt instanceof Error), String(receipt));

  // The next question takes no place of its own accord, so the same key answers nothing.
  const second = ask('make two');
  await page.locator('.list .rows a', { hasText: 'make two' }).waitFor();
  await page.keyboard.press('a');
  await page.getByText('The command and its output').click();
  await page.locator('.printed .fg2', { hasText: 'green' }).waitFor();
  await page.locator('.printed', { hasText: '<b>x</b>' }).waitFor();
  await person.sees('In the audit log');
  await page.getByText('Its events in the log').click();
  await page.locator('.event .kind', { hasText: 'exec.ended' }).waitFor();
  await page.locator('.graph').waitFor();

  const [waiting] = await agent.approvals({ state: 'pending' });
  assert.equal(waiting?.asked.command, 'make two');
  await page.keyboard.press('g');
  await page.keyboard.press('a');
  await mayAnswer();
  await page.keyboard.press('w');
  await page.keyboard.type('add not that');
  await page.keyboard.press('Escape');
  await page.keyboard.press('d');
  await page.locator('.outcome.block', { hasText: 'add not that' }).waitFor();
  const decided = await agent.approval(waiting.approval_id);
  assert.equal(decided.state, 'denied');
  assert.equal(decided.words, 'add not that');
  assert.match(decided.decided_by ?? '', /^person:/);
  assert.ok((await second) instanceof Error);
});

test('a value that is typed goes to the runtime, and is found nowhere else', options, async () => {
  const { page } = person;
  const value = `q7Vd2L${randomBytes(16).toString('hex')}`;
  const asked = agent.call('secrets.request', {
    name: 'DEPLOY_KEY',
    reason: 'To publish the package',
    wait_ms: 120_000,
  });
  await open('secrets');
  await person.sees('To publish the package');
  const field = page.locator('.request input[type=password]');
  await field.pressSequentially(value.slice(0, 8));
  await field.fill(value);
  assert.ok(!(await page.content()).includes(value.slice(0, 8)));
  await field.press('Enter');
  assert.equal((await asked).state, 'ready');
  await page.locator('td', { hasText: 'DEPLOY_KEY' }).waitFor();

  assert.ok(!(await person.everything()).includes(value));
  assert.deepEqual(
    person.received.filter((frame) => frame.includes(value)),
    [],
  );
  assert.equal(person.sent.filter((frame) => frame.includes(value)).length, 1);
  assert.ok(!daemon.log().includes(value));
  const files = globSync('{state,config,run}/**/*', { cwd: daemon.home, withFileTypes: true });
  const kept = files.filter((entry) => entry.isFile());
  assert.ok(kept.length > 0);
  for (const entry of kept) {
    assert.ok(!readFileSync(path.join(entry.parentPath, entry.name)).includes(value), entry.name);
  }
});

test(
  'a terminal is watched, taken over and handed back, and types nothing itself',
  options,
  async () => {
    scene = await playScene(agent, daemon);
    const { page } = person;
    await open(`command/${scene.terminal}`);
    await page.getByText('Take over').click();
    await person.sees('You type here.');
    await assert.rejects(agent.write({ exec_id: scene.terminal, data: 'agent\n' }), {
      code: 'SESSION_BUSY',
    });
    await page.keyboard.type('person\n');
    await page.locator('.xterm-rows', { hasText: '<person>' }).waitFor();
    await page.keyboard.type('plain\n');
    await page.locator('.xterm-rows', { hasText: 'got [' }).waitFor();
    await page.locator('.xterm-rows', { hasText: 'got [plain]' }).waitFor();
    await page.getByText('Release').click();
    await person.sees('You watch.');
    await agent.write({ exec_id: scene.terminal, data: 'agent\n' });
    await page.locator('.xterm-rows', { hasText: 'then agent' }).waitFor();
  },
);

test('the network of sessions is shown, and a port of one opens', options, async () => {
  const { page } = person;
  const root = (await scene.session.info()).working_dir ?? '';
  const hosts = ['talker.test'];
  const session = await agent.createSession({ name: 'talker', working_dir: root, hosts });
  try {
    await open('network');
    await page.getByRole('heading', { name: 'talker' }).waitFor();
    await page.getByText('No connection at the moment').first().waitFor();
    await page.getByLabel('Session').selectOption(session.id);
    await page.getByLabel('Port').fill('5173');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('nothing runs in a network of its own there').waitFor();
    await page.getByLabel('Session').selectOption(scene.session.id);
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('Open port 5173 in a new tab').waitFor();
  } finally {
    await session.destroy({ force: true });
    await scene.session.hidePort(5173);
  }
});

test(
  'no view has what keeps somebody out, in light or dark; nothing of others runs',
  options,
  async () => {
    const { page } = person;
    const views = [
      ['overview', '.rows.commands'],
      [`approvals/${scene.asked}`, '.answer'],
      [`command/${scene.changed}`, '.printed .fg2'],
      [`command/${scene.terminal}`, '.xterm-rows'],
      ['secrets', '.request'],
      [`changes/${scene.session.id}`, '.diff .row'],
      [`audit/${scene.changed}`, '.graph'],
      ['network', 'form'],
      ['policy', '.tester'],
      ['metrics', '.numbers dd'],
    ] as const;
    const found: string[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const [address, shows] of views) {
        await open(address);
        await page.locator(shows).first().waitFor();
        found.push(
          ...(await person.axe(scheme === 'dark' ? colourRules : undefined)).map(
            (line) => `${scheme} ${address}: ${line}`,
          ),
        );
        const made = await page.evaluate(`document.querySelectorAll(
        '#console :is(img, script, iframe, object, embed, style, b), [onerror]').length`);
        assert.equal(made, 0, address);
      }
    }
    await page.keyboard.press('?');
    await page.locator('dialog[open]').waitFor();
    found.push(...(await person.axe()));
    await page.keyboard.press('Escape');
    assert.deepEqual(found, []);
    await open('approvals/' + scene.asked);
    const shown = await page.locator('.question .command').innerText();
    for (const part of ['\\u{200B}', '\\u{202E}', '<script>alert(2)</script>']) {
      assert.ok(shown.includes(part), part);
    }
    assert.deepEqual(person.wrong, []);
  },
);

test('a command is not answered before its end was on the screen', options, async () => {
  const { page } = person;
  const lines = Array.from({ length: 120 }, (_, line) => `echo line ${line} | cat`);
  const asked = ask([...lines, 'make hidden-at-the-end'].join('\n'));
  await page.locator('.list .rows a', { hasText: 'echo line 0' }).click();
  await page.locator('.question .command', { hasText: 'hidden-at-the-end' }).waitFor();
  const hint = page.locator('.answer .hint');
  do {
    await page.keyboard.press('a');
    await hint.waitFor();
  } while (!(await hint.innerText()).startsWith('Scroll to the end'));
  await page.locator('.question .end').scrollIntoViewIfNeeded();
  await mayAnswer();
  await page.keyboard.press('d');
  await page.locator('.outcome.block').waitFor();
  assert.ok((await asked) instanceof Error);
});

test('a held change is read as a diff and let through by what was shown', options, async () => {
  const { page } = person;
  const file = path.join(daemon.root, 'shop/.envrc');
  assert.ok(!existsSync(file));
  await open('approvals');
  await page.getByText('One change to decide').click();
  await page.locator('.diff .row.added', { hasText: 'export PORT=8080' }).waitFor();
  await page.getByText('Apply, including held changes').click();
  await page.locator('.diff').waitFor({ state: 'visible' });
  await page.getByText('One change to decide').waitFor({ state: 'detached' });
  await page.getByText('Pending changes').waitFor({ state: 'detached' });
  assert.equal(readFileSync(file, 'utf8'), 'export PORT=8080\n');
});

test('a runtime that ended is told, not kept from who reads', options, async () => {
  await daemon.kill('SIGTERM');
  await person.sees('Connection lost');
  await person.sees('The runtime cannot be reached');
});
