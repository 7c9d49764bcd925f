// A repository whose configuration names a program wherever git would start one: plain git starts
// it, the argv of the allow rules does not. The program only writes a marker below a directory of
// the test.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import type { HardenedCommand } from '../src/policy/analysis.ts';
import { analyseShell } from '../src/policy/analyse.ts';
import { withoutGitFilters } from '../src/policy/shell/harden.ts';

const ground = mkdtempSync(path.join(os.tmpdir(), 'trl-hostile-'));
after(() => rmSync(ground, { recursive: true, force: true }));

const marker = path.join(ground, 'marker');
const helper = path.join(ground, 'helper');
writeFileSync(helper, `#!/bin/sh\necho ran "$@" >> '${marker}'\nexit 0\n`);
chmodSync(helper, 0o755);

const clean = { PATH: '/usr/bin:/bin', HOME: ground, GIT_CONFIG_NOSYSTEM: '1', LC_ALL: 'C' };
const date = { GIT_AUTHOR_DATE: '1700000000 +0000', GIT_COMMITTER_DATE: '1700000000 +0000' };

interface Repository {
  readonly directory: string;
  readonly git: (...argv: readonly string[]) => void;
  readonly write: (name: string, text: string) => void;
}

let count = 0;

/** A repository with two commits, a merge, and a file whose times changed since: made once. */
function repository(): Repository {
  template ??= made(path.join(ground, 'template'));
  count += 1;
  const directory = path.join(ground, `r${count}`);
  cpSync(template.directory, directory, { recursive: true });
  return within(directory);
}

let template: Repository | undefined;

function made(directory: string): Repository {
  mkdirSync(directory);
  const { git, write } = within(directory);
  git('init', '-q', '-b', 'main');
  write('a.txt', 'one\n');
  git('add', '.');
  git('commit', '-q', '-m', 'one');
  git('checkout', '-q', '-b', 'side');
  write('a.txt', 'side\n');
  git('commit', '-q', '-a', '-m', 'side');
  git('checkout', '-q', 'main');
  write('a.txt', 'main\n');
  git('commit', '-q', '-a', '-m', 'main');
  git('merge', '-q', '-s', 'ours', '-m', 'merge', 'side');
  return { directory, git, write };
}

function within(directory: string): Repository {
  const git = (...argv: readonly string[]): void => {
    const identity = [
      '-c',
      'user.name=x',
      '-c',
      'user.email=x@x',
      '-c',
      'protocol.file.allow=always',
    ];
    const env = { ...clean, ...date };
    const { status, stderr } = spawnSync('git', [...identity, ...argv], { cwd: directory, env });
    assert.equal(status, 0, `git ${argv.join(' ')}: ${String(stderr)}`);
  };
  const write = (name: string, text: string): void => {
    writeFileSync(path.join(directory, name), text);
  };
  return { directory, git, write };
}

/** Whether the helper ran. */
function runs(repo: Repository, run: HardenedCommand, extra: Record<string, string> = {}): boolean {
  rmSync(marker, { force: true });
  const [program = '', ...argv] = run.argv;
  const env: Record<string, string> = { ...clean, ...extra };
  for (const name of Object.keys(env)) {
    const taken = run.unset.some((one) =>
      one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one,
    );
    if (taken) delete env[name];
  }
  spawnSync(program, argv, { cwd: repo.directory, env: { ...env, ...run.set }, timeout: 120_000 });
  return existsSync(marker);
}

const words = (command: string): HardenedCommand => ({
  argv: command.split(' '),
  unset: [],
  set: {},
});

/** What `filterQuery` is answered with, `\0` between names: drivers of `filter.NAME.clean` … */
function filterNames(answer: string): readonly string[] {
  const names = new Set<string>();
  for (const key of answer.split('\0')) {
    const name = /^filter\.(.+)\.[^.]+$/s.exec(key)?.[1];
    if (name !== undefined) names.add(name);
  }
  return [...names].toSorted();
}

/** The argv that lists the filter drivers a repository configures; it runs none of them. */
const filterQuery: readonly string[] = [
  'git',
  '--no-pager',
  'config',
  '--null',
  '--name-only',
  '--get-regexp',
  '^filter\\.',
];

function hardened(repo: Repository, command: string): HardenedCommand {
  const { allowed } = analyseShell(command, 'bash');
  assert.ok(allowed !== null, `${command} is allowed`);
  const [program = '', ...argv] = filterQuery;
  const { stdout } = spawnSync(program, argv, { cwd: repo.directory, env: clean });
  return withoutGitFilters(allowed.run, filterNames(String(stdout)));
}

interface Attack {
  readonly name: string;
  /** Commands that are allowed, at least one of which runs the helper without the recipe. */
  readonly commands: readonly string[];
  readonly arm: (repo: Repository) => void;
  readonly variables?: Record<string, string>;
}

/** Times of the working tree's file change, so that git looks into it again. */
const touch = (repo: Repository): void => repo.write('a.txt', 'other\n');

function driver(attributes: string, ...settings: readonly [string, string][]): Attack['arm'] {
  return (repo) => {
    touch(repo);
    repo.write('.gitattributes', `a.txt ${attributes}\n`);
    for (const [key, value] of settings) repo.git('config', key, value);
  };
}

const set =
  (...settings: readonly (readonly [string, string])[]): Attack['arm'] =>
  (repo) => {
    touch(repo);
    for (const [key, value] of settings) repo.git('config', key, value);
  };

const trees = ['git status', 'git diff', 'git diff HEAD~1'];
const histories = [
  'git log -p',
  'git log -p -m',
  'git show HEAD',
  'git show HEAD:a.txt',
  'git log',
];

const attacks: readonly Attack[] = [
  { name: 'core.fsmonitor', commands: trees, arm: set(['core.fsmonitor', helper]) },
  { name: 'diff.external', commands: trees, arm: set(['diff.external', helper]) },
  {
    name: 'diff.NAME.command',
    commands: ['git diff'],
    arm: driver('diff=x', ['diff.x.command', helper]),
  },
  {
    name: 'textconv',
    commands: [...trees, ...histories],
    arm: driver('diff=x', ['diff.x.textconv', helper]),
  },
  { name: 'filter clean', commands: trees, arm: driver('filter=x', ['filter.x.clean', helper]) },
  {
    name: 'filter process',
    commands: trees,
    arm: driver('filter=x', ['filter.x.process', helper]),
  },
  {
    name: 'filter with a name that -c cannot spell, required, by info/attributes',
    commands: trees,
    arm: (repo) => {
      touch(repo);
      writeFileSync(path.join(repo.directory, '.git/info/attributes'), 'a.txt filter=a=b.c\n');
      repo.git('config', 'filter.a=b.c.clean', helper);
      repo.git('config', 'filter.a=b.c.required', 'true');
    },
  },
  {
    name: 'filter by an included file',
    commands: trees,
    arm: (repo) => {
      touch(repo);
      repo.write('.gitattributes', 'a.txt filter=x\n');
      repo.write('.hidden', `[filter "x"]\n\tclean = ${helper}\n`);
      repo.git('config', 'include.path', '../.hidden');
    },
  },
  {
    name: 'post-index-change hook',
    commands: ['git status'],
    arm: (repo) => {
      repo.write('a.txt', 'main\n');
      repo.git('config', 'core.hooksPath', path.dirname(helper));
      writeFileSync(path.join(ground, 'post-index-change'), `#!/bin/sh\necho > '${marker}'\n`);
      chmodSync(path.join(ground, 'post-index-change'), 0o755);
    },
  },
  {
    name: 'gpg.program by log.showSignature',
    commands: ['git log', 'git show'],
    arm: (repo) => {
      sign(repo);
      set(['log.showSignature', 'true'], ['gpg.program', helper])(repo);
    },
  },
  {
    name: 'gpg.program by format.pretty',
    commands: ['git log', 'git show'],
    arm: (repo) => {
      sign(repo);
      set(['format.pretty', '%G?'], ['gpg.program', helper])(repo);
    },
  },
  {
    name: 'gpg.openpgp.program by a format of a branch',
    commands: ['git log', 'git log --pretty=evil'],
    arm: (repo) => {
      sign(repo);
      set(['pretty.evil', '%GK'], ['gpg.openpgp.program', helper])(repo);
    },
  },
  {
    name: 'merge driver by log.diffMerges=remerge',
    commands: ['git log -p -m', 'git log -p --diff-merges=on'],
    arm: driver('merge=x', ['merge.x.driver', helper], ['log.diffMerges', 'remerge']),
  },
  {
    name: 'a pager',
    commands: ['git log', 'git diff'],
    arm: set(['core.pager', helper], ['pager.log', helper]),
  },
  {
    name: 'a missing object of a promising remote, fetched over ext',
    commands: ['git show HEAD:a.txt', 'git log -p', 'git diff HEAD~1'],
    arm: (repo) => {
      promise(repo, `ext::${helper} x`);
      repo.git('config', 'protocol.ext.allow', 'always');
    },
  },
  {
    name: 'a missing object, fetched by an upload-pack of the repository',
    commands: ['git show HEAD:a.txt', 'git log -p'],
    arm: (repo) => {
      promise(repo, repo.directory);
      repo.git('config', 'remote.evil.uploadpack', helper);
    },
  },
  {
    name: 'a missing object, fetched over ssh',
    commands: ['git show HEAD:a.txt', 'git log -p'],
    arm: (repo) => {
      promise(repo, 'ssh://x/y');
      repo.git('config', 'core.sshCommand', helper);
    },
  },
  {
    name: 'the file system monitor of a submodule',
    commands: ['git status', 'git diff'],
    arm: (repo) => submodule(repo, 'core.fsmonitor', helper),
  },
  {
    name: 'the filter of a submodule',
    commands: ['git status', 'git diff'],
    arm: (repo) => {
      submodule(repo, 'filter.x.clean', helper);
      writeFileSync(path.join(repo.directory, 'sub/.gitattributes'), 'a.txt filter=x\n');
      // Of equal size: else git need not look into it.
      writeFileSync(path.join(repo.directory, 'sub/a.txt'), 'mine\n');
    },
  },
  {
    name: 'the external diff of a submodule by diff.submodule=diff',
    commands: ['git diff'],
    arm: (repo) => {
      submodule(repo, 'diff.external', helper);
      repo.git('config', 'diff.submodule', 'diff');
      writeFileSync(path.join(repo.directory, 'sub/a.txt'), 'changed\n');
    },
  },
  {
    name: 'variables: GIT_EXTERNAL_DIFF, GIT_CONFIG_COUNT',
    commands: ['git diff', 'git status'],
    arm: touch,
    variables: {
      GIT_EXTERNAL_DIFF: helper,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'core.fsmonitor',
      GIT_CONFIG_VALUE_0: helper,
    },
  },
];

/** A commit that carries a signature, which nothing needs to be able to verify. */
function sign(repo: Repository): void {
  const signer = path.join(ground, 'signer');
  const lines = ['-----BEGIN PGP SIGNATURE-----', '', 'x', '-----END PGP SIGNATURE-----'];
  const status = "printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2";
  const signature = lines.map((line) => `'${line}'`).join(' ');
  const script = [status, 'cat > /dev/null', `printf '%s\\n' ${signature}`, ''];
  writeFileSync(signer, ['#!/bin/sh', ...script].join('\n'));
  chmodSync(signer, 0o755);
  repo.git('-c', `gpg.program=${signer}`, 'commit', '-q', '-S', '--allow-empty', '-m', 'signed');
}

/** Takes the objects of `a.txt` away and says that a remote has them. */
function promise(repo: Repository, url: string): void {
  repo.git('config', 'core.repositoryFormatVersion', '1');
  repo.git('config', 'extensions.partialClone', 'evil');
  repo.git('config', 'remote.evil.url', url);
  repo.git('config', 'remote.evil.promisor', 'true');
  const { stdout } = spawnSync('git', ['rev-parse', 'HEAD:a.txt', 'HEAD~1:a.txt'], {
    cwd: repo.directory,
    env: clean,
  });
  for (const id of new Set(String(stdout).trim().split('\n'))) {
    const object = path.join(repo.directory, '.git/objects', id.slice(0, 2), id.slice(2));
    rmSync(object, { force: true });
  }
}

function submodule(repo: Repository, key: string, value: string): void {
  const other = repository();
  repo.git('submodule', '--quiet', 'add', other.directory, 'sub');
  repo.git('commit', '-q', '-m', 'sub');
  repo.git('-C', 'sub', 'config', key, value);
}

for (const attack of attacks) {
  test(`allowed git does not run what the repository names: ${attack.name}`, () => {
    const reached: string[] = [];
    for (const command of attack.commands) {
      const plain = repository();
      attack.arm(plain);
      if (runs(plain, words(command), attack.variables)) reached.push(command);

      const repo = repository();
      attack.arm(repo);
      assert.equal(runs(repo, hardened(repo, command), attack.variables), false, command);
    }
    // A pager needs a terminal: there is nothing to show without one.
    if (attack.name !== 'a pager') assert.ok(reached.length > 0, 'plain git runs it somewhere');
  });
}
