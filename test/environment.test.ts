import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  baseEnvironment,
  checkVariable,
  isBaseVariableName,
  isWithheldVariable,
} from '../src/environment/base.ts';
import { isTrlError } from '../src/errors.ts';
import { isInjectionName } from '../src/variable-names.ts';

const input = {
  path: '/usr/bin:/bin',
  home: '/home/u',
  user: 'u',
  shell: '/bin/bash',
  tmp: '/tmp',
  runtimeDir: '/run/user/1000',
  visible: ['/usr', '/home/u/.pyenv'],
};

test('what each command has of its own is a base name, and nothing else is', () => {
  const own = Object.keys(baseEnvironment({ ...input, env: {} }));
  for (const name of own) assert.ok(isBaseVariableName(name), name);
  for (const name of ['TZ', 'LC_ALL', 'API_KEY', 'toString']) {
    assert.ok(!isBaseVariableName(name), name);
  }
});

test('a command gets exactly the variables of the base level', () => {
  const env = {
    PATH: '/evil',
    HOME: '/host',
    AWS_SECRET_ACCESS_KEY: 's',
    TRL_AUTH_TOKEN: 't',
    LD_PRELOAD: './x.so',
    EDITOR: 'vim',
    LC_TIME: 'de_DE.UTF-8',
    LC_API_TOKEN: 's',
    TZ: 'Europe/Berlin',
    PYENV_ROOT: '/home/u/.pyenv',
    GOROOT: '/somewhere/else',
    NODE_EXTRA_CA_CERTS: '/etc/x.pem',
  };
  assert.deepEqual(baseEnvironment({ ...input, env }), {
    LC_TIME: 'de_DE.UTF-8',
    TZ: 'Europe/Berlin',
    PYENV_ROOT: '/home/u/.pyenv',
    PATH: '/usr/bin:/bin',
    HOME: '/home/u',
    USER: 'u',
    LOGNAME: 'u',
    SHELL: '/bin/bash',
    TMPDIR: '/tmp',
    LANG: 'C.UTF-8',
    XDG_CACHE_HOME: '/home/u/.cache',
    XDG_CONFIG_HOME: '/home/u/.config',
    XDG_DATA_HOME: '/home/u/.local/share',
    XDG_STATE_HOME: '/home/u/.local/state',
    XDG_RUNTIME_DIR: '/run/user/1000',
    PAGER: 'cat',
    GIT_PAGER: 'cat',
    GH_PAGER: 'cat',
    MANPAGER: 'cat',
    GIT_EDITOR: ':',
    GIT_TERMINAL_PROMPT: '0',
    DEBIAN_FRONTEND: 'noninteractive',
    NO_COLOR: '1',
    TERM: 'dumb',
    TRL_RUNTIME: '1',
    AGENT_FOUNDRY_RUNTIME: '1',
  });
});

test('the language of the host is kept where it has one', () => {
  assert.equal(baseEnvironment({ ...input, env: { LANG: 'de_DE.UTF-8' } })['LANG'], 'de_DE.UTF-8');
});

test('a variable that no shell could use is refused without its value', () => {
  const wrong: [string, string][] = [
    ['', 'secretvalue'],
    ['A=B', 'secretvalue'],
    ['A\0', 'secretvalue'],
    ['1A', 'secretvalue'],
    ['A-B', 'secretvalue'],
    ['A B', 'secretvalue'],
    ['A\n', 'secretvalue'],
    ['Ä', 'secretvalue'],
    ['GOOD', 'secretvalue\0'],
  ];
  for (const [name, value] of wrong) {
    const refused = (error: unknown): boolean =>
      isTrlError(error, 'INVALID_PARAMS') && !error.message.includes('secret');
    assert.throws(() => checkVariable(name, value), refused, JSON.stringify(name));
  }
  checkVariable('_a1', 'any = value\n');
  checkVariable('DATABASE_URL', 'postgres://localhost/test');
});

test('the runtime’s own variables and known credentials are withheld', () => {
  const names = [
    'TRL_AUTH_TOKEN',
    'TRL_X',
    'HERMES_API_KEY',
    'OPENROUTER_API_KEY',
    'DATABASE_URL_RO',
  ];
  assert.deepEqual(
    names.filter((name) => !isWithheldVariable(name)),
    [],
  );
  assert.deepEqual(
    ['PATH', 'MY_DATABASE_URL', 'HERMES'].filter((name) => isWithheldVariable(name)),
    [],
  );
  assert.equal(isWithheldVariable('CORP_TOKEN', ['CORP_*']), true);
});

test('loader, shell and interpreter hooks do not carry, ordinary variables do', () => {
  const hooks = [
    'LD_PRELOAD LD_LIBRARY_PATH BASH_ENV ENV BASH_FUNC_ls%% SHELLOPTS PS4 IFS PROMPT_COMMAND',
    'NODE_OPTIONS PYTHONSTARTUP PERL5OPT RUBYOPT GIT_SSH_COMMAND GIT_EXTERNAL_DIFF',
    'GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL LUA_INIT_5_4 DOTNET_STARTUP_HOOKS OPENSSL_CONF',
    'CORECLR_PROFILER_PATH npm_config_script_shell BUN_OPTIONS',
  ].flatMap((line) => line.split(' '));
  assert.deepEqual(
    hooks.filter((name) => !isInjectionName(name)),
    [],
  );
  const ordinary = ['PATH', 'FOO', 'PYTHONPATH', 'NODE_ENV', 'GIT_AUTHOR_NAME', 'ENVIRONMENT'];
  assert.deepEqual(
    ordinary.filter((name) => isInjectionName(name)),
    [],
  );
});

test('where certificates are is said where the command sees them', () => {
  const env = { PIP_CERT: '/usr/share/ca.pem', SSL_CERT_FILE: '/srv/own/ca.pem' };
  const found = baseEnvironment({ ...input, env, visible: ['/usr'] });
  assert.deepEqual([found['PIP_CERT'], found['SSL_CERT_FILE']], ['/usr/share/ca.pem', undefined]);
});
