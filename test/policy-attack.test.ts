// A hostile workspace, and commands that are allowed without asking: what they run, read and write.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { analyseShell } from '../src/policy/analyse.ts';
import { allowPlainCommand } from '../src/policy/shell/allow.ts';
import { fileSecrecy } from '../src/policy/shell/secret.ts';
import { analyseWindows } from '../src/policy/windows/analyse.ts';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type Daemon, type Json } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const skip = whyNoBox;

interface Ground {
  readonly root: string;
  readonly write: (name: string, text: string) => string;
  /** Writes a marker when it is run. */
  readonly helper: string;
  readonly marker: string;
}

function ground(daemon: Daemon): Ground {
  const root = mkdtempSync(path.join(daemon.root, 'g'));
  const write = (name: string, text: string): string => {
    const file = path.join(root, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  const marker = path.join(root, 'ran');
  const helper = write('helper', `#!/bin/sh\ntouch ${marker}\necho evil\n`);
  chmodSync(helper, 0o755);
  return { root, write, helper, marker };
}

function git(cwd: string, ...words: string[]): void {
  const identity = ['-c', 'user.name=a', '-c', 'user.email=a@b.c'];
  execFileSync('git', [...identity, ...words], { cwd, stdio: 'pipe' });
}

function commit(cwd: string): void {
  git(cwd, 'init', '-q');
  git(cwd, 'add', '-A');
  git(cwd, 'commit', '-qm', 'one');
}

interface Outcome {
  /** `allow`, or the first rule that asked or blocked. */
  readonly verdict: string;
  readonly shown: string;
}

async function outcome(
  daemon: Daemon,
  workspace: string,
  command: string,
  more: { readonly exec?: object; readonly session?: object } = {},
): Promise<Outcome> {
  const { socketPath } = daemon;
  await using session = await openSession(socketPath, { working_dir: workspace, ...more.session });
  const answer: Json = await session.ask(command, more.exec);
  if (answer.ok === true) {
    return { verdict: 'allow', shown: `${answer.data.stdout}${answer.data.stderr}` };
  }
  return { verdict: answer.data?.verdict.rules[0].id ?? answer.error.code, shown: '' };
}

describe('a hostile workspace', { skip }, () => {
  let daemon: Daemon;
  before(async () => {
    daemon = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
  });
  after(() => daemon.stop());

  test('shows no file beyond it to git, which may compare plain files', async () => {
    const { root, write } = ground(daemon);
    write('empty.txt', '');
    write('a/b.txt', 'b\n');
    mkdirSync(path.join(root, '.ssh'));
    symlinkSync('/etc', path.join(root, 'link'));
    symlinkSync('.ssh', path.join(root, 'keys'));
    const commands = ['link/passwd empty.txt', '-- link/passwd empty.txt', 'link/ a/', 'keys/ a/'];
    for (const words of commands) {
      const { verdict } = await outcome(daemon, root, `git diff ${words}`);
      assert.equal(verdict, 'facts.file', words);
    }
  });

  test('has no git run in what only looks like a repository', async () => {
    const spoils: Readonly<Record<string, (root: string) => void>> = {
      'an empty directory': (root) => {
        rmSync(path.join(root, '.git'), { recursive: true });
        mkdirSync(path.join(root, '.git'));
      },
      'a head that is none': (root) => writeFileSync(path.join(root, '.git/HEAD'), 'x\n'),
      'a format of tomorrow': (root) => git(root, 'config', 'core.repositoryFormatVersion', '99'),
      'a working tree elsewhere': (root) => git(root, 'config', 'core.worktree', '/etc'),
      'a pipe for a configuration': (root) => {
        rmSync(path.join(root, '.git/config'));
        execFileSync('mkfifo', [path.join(root, '.git/config')]);
      },
      'a pipe for a common directory': (root) =>
        void execFileSync('mkfifo', [path.join(root, '.git/commondir')]),
    };
    for (const [name, spoil] of Object.entries(spoils)) {
      const { root, write } = ground(daemon);
      write('passwd', 'mine\n');
      commit(root);
      spoil(root);
      const { verdict, shown } = await outcome(daemon, root, 'git diff');
      assert.equal(verdict, 'facts.git-config', `${name}: ${shown}`);
    }
  });

  test('cannot keep its repository where it is not looked at', async () => {
    const { root, write, helper, marker } = ground(daemon);
    const outside = mkdtempSync(path.join(daemon.home, 'outside'));
    write('a.txt', 'one\n');
    write('.gitattributes', '*.txt filter=x\n');
    commit(root);
    git(root, 'config', 'filter.x.clean', helper);
    execFileSync('mv', [path.join(root, '.git'), path.join(outside, 'git')]);
    write('.git', `gitdir: ${outside}/git\n`);
    write('a.txt', 'two\n');
    for (const command of ['git status', 'git diff']) {
      const found = await outcome(daemon, root, command, { session: { sandbox: 'none' } });
      assert.equal(found.verdict, 'facts.git-config', command);
      assert.ok(!existsSync(marker), command);
    }
  });

  test('has npm run the scripts that were shown, in the shell of the system', async () => {
    for (const settings of ['script-shell={helper}', 'workspaces=true', 'workspace=p']) {
      const { root, write, helper, marker } = ground(daemon);
      const scripts = { build: 'echo built' };
      write('package.json', JSON.stringify({ workspaces: ['p'], scripts }));
      const other = { name: 'p', version: '1.0.0', scripts: { build: helper } };
      write('p/package.json', JSON.stringify(other));
      write('.npmrc', `${settings.replace('{helper}', helper)}\n`);
      for (const command of ['npm run build', 'npm run build --silent', 'npm run -s build']) {
        const { shown } = await outcome(daemon, root, command);
        assert.ok(!existsSync(marker), `${settings}: ${shown}`);
        if (settings.startsWith('script')) assert.match(shown, /built/, settings);
      }
    }
  });

  test('is not written to by npm when it only lists', async () => {
    const { root, write } = ground(daemon);
    write('package.json', '{}');
    write('.npmrc', `logs-dir=${root}/logs\ncache=${root}/cache\nupdate-notifier=true\n`);
    const files = readdirSync(root);
    for (const command of ['npm ls', 'npm ls nothing', 'npm --version', 'npx --version']) {
      const { verdict } = await outcome(daemon, root, command);
      assert.equal(verdict, 'allow', command);
      assert.deepEqual(readdirSync(root), files, command);
    }
    for (const name of ['NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE', 'OPENSSL_CONF']) {
      const env = { [name]: path.join(root, 'made') };
      const { verdict } = await outcome(daemon, root, 'npm ls', { exec: { env } });
      assert.equal(verdict, 'env.program', name);
    }
  });

  test('may be searched by directory, without its files with secrets', async () => {
    const { root, write } = ground(daemon);
    const names = ['.env', '.env-prod', 'x/.env_local', '.ENV', 'a/prod.env', '.aws/credentials'];
    const more = ['.ssh/other', 'credentials.json', 'x/terraform.tfstate', '.git/config', 'A.PEM'];
    const secret = [...names, ...more];
    for (const name of secret) {
      assert.notEqual(fileSecrecy(name), null, name);
      write(name, 'NEEDLE secret\n');
    }
    write('src/a.ts', 'NEEDLE seen\n');
    write('.hidden/b.ts', 'NEEDLE too\n');
    symlinkSync('/etc', path.join(root, 'link'));
    for (const words of ['src', '.', '-uu', '-uu . x', '--hidden --no-ignore x src .git']) {
      const { verdict, shown } = await outcome(daemon, root, `rg NEEDLE ${words}`);
      assert.equal(verdict, 'allow', words);
      assert.match(shown, /seen/, words);
      assert.doesNotMatch(shown, /secret/, words);
    }
    for (const words of ['.ssh', 'link', 'link/', '.aws/']) {
      const { verdict } = await outcome(daemon, root, `rg NEEDLE ${words}`);
      assert.notEqual(verdict, 'allow', words);
    }
  });
});

test('a rule of a person lets nothing start with variables of the caller', { skip }, async () => {
  const rule = '{ id: m, decision: allow, match: [make, lint], reason: it only reads }';
  const file = path.join(mkdtempSync('/tmp/trl-rule-'), 'policy.yaml');
  writeFileSync(file, `base: guarded\ncommands: [${rule}]\n`, { mode: 0o600 });
  try {
    await using daemon = await startRuntime({ env: { TRL_POLICY: file } });
    const { root, write, marker } = ground(daemon);
    write('Makefile', 'lint:\n\t@echo linted\n');
    assert.equal((await outcome(daemon, root, 'make lint')).verdict, 'allow');
    const env = { MAKEFLAGS: `--eval=$(shell touch ${marker})`, PATH: root, CC: './x' };
    for (const [name, value] of Object.entries(env)) {
      const { verdict } = await outcome(daemon, root, 'make lint', {
        exec: { env: { [name]: value } },
      });
      assert.notEqual(verdict, 'allow', name);
    }
    assert.ok(!existsSync(marker));
  } finally {
    rmSync(path.dirname(file), { recursive: true });
  }
});

test('a pattern for git takes in no file with secrets that it means', () => {
  const history = (words: string): unknown => allowPlainCommand(['git', 'log', '-p', '--', words]);
  const patterns = [
    ':/.en?',
    String.raw`.e\nv`,
    '?en?',
    '.e[[:alpha:]]v',
    '*.en[v]',
    ':(icase).EN?',
  ];
  const magic = [':(attr:x).envrc', ':(top)*.pe?', ':/*.ke*', 'HEAD:x:.env', 'src/[.]env'];
  for (const word of [...patterns, ...magic]) assert.equal(history(word), null, word);
  const plain = [
    '*',
    '*.ts',
    'src/*.json',
    ':!src',
    ':(glob)**/*.ts',
    ':(top)src',
    ':/src',
    '*.md',
  ];
  for (const word of plain) assert.notEqual(history(word), null, word);
});

interface Labelled {
  readonly id: string;
  readonly shell: 'bash' | 'powershell' | 'cmd';
  readonly command: string;
  readonly expect: string;
  readonly also_ok?: readonly string[];
}

test('commands labelled by their meaning before they were tried are decided so', () => {
  const file = path.join(import.meta.dirname, 'fixtures/policy/attack.jsonl');
  const rows = readFileSync(file, 'utf8').trimEnd().split('\n');
  const wrong = rows.flatMap((row) => {
    const one: Labelled = JSON.parse(row);
    const { id, shell, command, expect, also_ok: also = [] } = one;
    const read = shell === 'bash' ? analyseShell(command, shell) : analyseWindows(command, shell);
    const blocks = read.findings.some(({ bound }) => bound === 'block');
    const asks = read.findings.length > 0 || read.allowed === null;
    const decided = blocks ? 'block' : asks ? 'ask' : 'allow';
    const right = decided === expect || also.includes(decided);
    return right ? [] : [`${id}: ${expect}, decided ${decided}: ${JSON.stringify(command)}`];
  });
  assert.deepEqual(wrong, []);
});
