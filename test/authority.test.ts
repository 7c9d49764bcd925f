// Files that the runtime obeys, and its own: no command may write them, whatever leads to them.
import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { startRuntime, type DaemonOptions } from './support/daemon.ts';
import { openSession } from './support/session.ts';

const text = 'base: guarded\n';
const put = (file: string, what = text): string => {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, what, { mode: 0o600 });
  return file;
};
const serve = ['serve', '--socket-path', '{socket}', '--workspace-root', '{root}'];

/** What it says when it does not start. */
async function refusal(options: DaemonOptions): Promise<string> {
  try {
    await using daemon = await startRuntime(options);
    return `it started: ${daemon.log()}`;
  } catch (error) {
    return String(error);
  }
}

/** Each answers the policy that the runtime is to obey; `home/work` is the root. */
const policies: Readonly<Record<string, (home: string) => string>> = {
  'in a root': (home) => put(`${home}/work/deep/policy.yaml`),
  'named by a link that leads into a root': (home) => {
    symlinkSync(put(`${home}/work/policy.yaml`), `${home}/policy.yaml`);
    return `${home}/policy.yaml`;
  },
  'named by a link in a root': (home) => {
    symlinkSync(put(`${home}/policy.yaml`), `${home}/work/policy.yaml`);
    return `${home}/work/policy.yaml`;
  },
  'below a directory that is a link in a root': (home) => {
    put(`${home}/kept/policy.yaml`);
    symlinkSync(`${home}/kept`, `${home}/work/kept`);
    symlinkSync(`${home}/work/kept`, `${home}/way`);
    return `${home}/way/policy.yaml`;
  },
  'with another name in a root': (home) => {
    mkdirSync(`${home}/work/deep`, { recursive: true });
    linkSync(put(`${home}/policy.yaml`), `${home}/work/deep/notes.txt`);
    return `${home}/policy.yaml`;
  },
  'that extends a file in a root': (home) => {
    put(`${home}/work/team.yaml`);
    return put(`${home}/policy.yaml`, 'extends: work/team.yaml\n');
  },
};

for (const [what, make] of Object.entries(policies)) {
  test(`a policy ${what} is refused`, async () => {
    const told = await refusal({ prepare: (home) => ({ TRL_POLICY: make(home) }) });
    assert.match(told, /Cannot use workspace root ".*work": the runtime obeys ".*" in it/);
  });
}

test('configuration, certificates and the directory of both are refused in a root', async () => {
  const config = { TRL_CONFIG: '' };
  const told = await refusal({
    prepare: (home) => ({ ...config, TRL_CONFIG: put(`${home}/work/config.yaml`, 'audit: {}\n') }),
  });
  assert.match(told, /the runtime obeys ".*config\.yaml" in it/);
  // There is no such directory yet: a command would make it, and the next start obey it.
  const own = await refusal({ prepare: (home) => ({ XDG_CONFIG_HOME: `${home}/work/config` }) });
  assert.match(own, /the runtime keeps ".*work\/config\/trl" in it/);
  const key = await refusal({
    args: [...serve, '--http', '127.0.0.1:0', '--http-cert', '{root}/c.pem', '--http-key', '/k'],
    env: { TRL_AUTH_TOKEN: 'x'.repeat(40) },
  });
  assert.match(key, /the runtime obeys ".*work\/c\.pem" in it/);
});

test('a root inside of what the runtime keeps is refused', async () => {
  const state = (home: string): string => path.join(home, 'state', 'trl', 'snapshots');
  const told = await refusal({
    args: [...serve, '--workspace-root', '{home}/state/trl/snapshots'],
    prepare: (home) => {
      mkdirSync(state(home), { recursive: true });
      return {};
    },
  });
  assert.match(told, /Cannot use workspace root ".*snapshots": the runtime keeps it/);
});

test('no grant opens what the runtime obeys or keeps', { skip: whyNoBox }, async () => {
  await using daemon = await startRuntime({
    prepare: (home) => ({ TRL_POLICY: put(`${home}/wide/policy.yaml`, 'base: trusted\n') }),
  });
  const wide = path.join(daemon.home, 'wide');
  const state = path.join(daemon.home, 'state');
  const files = { read: { allow: [state, daemon.home] }, write: { allow: [wide] } };
  await using session = await openSession(daemon.socketPath, { working_dir: daemon.root, files });
  const policy = path.join(wide, 'policy.yaml');
  const tried = await session.run(
    `echo 'base: trusted # mine' > ${policy}; mv ${policy} ${policy}.old; ls ${state}/trl`,
  );
  assert.equal(readFileSync(policy, 'utf8'), 'base: trusted\n', tried.stderr);
  assert.equal(tried.stdout, '', 'the keys of the runtime are nobody else’s');
  const socket = await session.run(
    `python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("${daemon.socketPath}")'`,
  );
  assert.notEqual(socket.exit_code, 0, 'a command reached the runtime that holds it');
  const inside = { read: { allow: [path.join(state, 'trl', 'audit')] } };
  const asked = { working_dir: daemon.root, files: inside };
  await using closer = await openSession(daemon.socketPath, asked);
  assert.equal((await closer.ask('true')).error?.code, 'INVALID_PARAMS');
});

test(
  'no grant lets a command make or replace what the runtime obeys',
  { skip: whyNoBox },
  async () => {
    await using daemon = await startRuntime({
      prepare: (home) => {
        mkdirSync(`${home}/dotfiles/trl`, { recursive: true });
        mkdirSync(`${home}/named`);
        symlinkSync(put(`${home}/policy.yaml`, 'base: trusted\n'), `${home}/named/policy.yaml`);
        return { TRL_POLICY: `${home}/named/policy.yaml` };
      },
    });
    const { home, root } = daemon;
    const config = path.join(home, 'config');
    const tried = async (tree: string, command: string): Promise<string> => {
      const files = { write: { allow: [tree] } };
      await using session = await openSession(daemon.socketPath, { working_dir: root, files });
      const { ok, data, error } = await session.ask(command);
      return ok ? `it ran: ${data.stderr}` : `${error.code} ${error.message}`;
    };
    const make = `mkdir -p ${config}/trl; echo '{}' >${config}/trl/approver.json`;
    const refused = /^INVALID_PARAMS Cannot let commands write ".*": the runtime /;
    // Nobody has written anything there yet.
    for (const tree of [config, home]) assert.match(await tried(tree, make), refused);
    assert.deepEqual(readdirSync(config), []);
    // As who keeps such files in a repository has it.
    symlinkSync(`${home}/dotfiles/trl`, `${config}/trl`);
    assert.match(await tried(config, `rm ${config}/trl; ${make}`), refused);
    const replace = `rm ${home}/named/policy.yaml; echo 'base: locked' >${home}/named/policy.yaml`;
    assert.match(await tried(`${home}/named`, replace), refused);
    assert.equal(lstatSync(`${config}/trl`).isSymbolicLink(), true);
    rmSync(`${config}/trl`);
    mkdirSync(`${config}/trl`);
    // What is there is covered, and the grant is good for the rest.
    const move = `mv ${config}/trl ${config}/old`;
    const beside = `touch ${config}/beside; ${move}; echo "{}" >${config}/trl/x`;
    assert.match(await tried(config, beside), /^it ran: /);
    assert.deepEqual([readdirSync(config), readdirSync(`${config}/trl`)], [['beside', 'trl'], []]);
    // Brought into a root after the start.
    renameSync(`${home}/policy.yaml`, `${root}/policy.yaml`);
    symlinkSync(`${root}/policy.yaml`, `${home}/policy.yaml`);
    assert.match(await tried(`${home}/dotfiles`, 'true'), refused);
  },
);

test('no program that commands could write gives a secret', async () => {
  await using daemon = await startRuntime({
    prepare: (home) => {
      put(`${home}/work/bin/get-it`, `#!/bin/sh\ntouch ${home}/ran\necho Zr4kQm7vXw2pTn9s\n`);
      chmodSync(`${home}/work/bin/get-it`, 0o755);
      const source = '{ kind: command, name: DB_PASSWORD, argv: [get-it] }';
      put(`${home}/config/trl/config.yaml`, `secrets: { sources: [${source}] }\n`);
      return { PATH: `${home}/work/bin:${process.env['PATH'] ?? ''}` };
    },
  });
  await using session = await openSession(daemon.socketPath, { sandbox: 'none' });
  const { error } = await session.ask('true', { env_keys: ['DB_PASSWORD'] });
  assert.equal(error?.code, 'SECRET_UNAVAILABLE');
  assert.match(error.message, /commands may write ".*work\/bin\/get-it"/);
  assert.ok(!existsSync(path.join(daemon.home, 'ran')));
});
