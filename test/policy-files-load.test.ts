// Where policies come from: files that extend others, the managed file, and projects one trusts.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { promisify } from 'node:util';
import { isTrlError } from '../src/errors.ts';
import { loadPolicyFile, loadPolicy } from '../src/policy/files/load.ts';
import { configDirectory } from '../src/yaml/config-directories.ts';
import { PolicyError } from '../src/policy/files/policy-file.ts';
import { findProjectPolicy, trustProject } from '../src/policy/files/trust.ts';
import {
  policyBaseNames,
  policyBaseFor,
  isWithheldByPolicy,
  strictestBase,
} from '../src/policy/policy.ts';
import { policyFromProfile } from '../src/policy/profiles.ts';

const version = '9.9.9';
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), 'trl-policy-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function put(name: string, text: string | Uint8Array): string {
  const file = path.join(directory, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o644);
  return file;
}

const at = (name: string): string => path.join(directory, name);
const load = (file: string) => loadPolicyFile(file, { kind: 'user', version }, 'guarded').policy;
const places = () => ({ userFile: at('user.yaml'), managedFile: at('managed.yaml'), version });

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(isTrlError(error), String(error));
    return error.message.replaceAll(directory, '');
  }
  return 'nothing was thrown';
}

test('a file adds to what it extends, and the strictest of both holds', () => {
  put('team.yaml', 'base: guarded\ncommands: [{decision: block, match: [a], reason: x}]\n');
  put('lib/net.yaml', 'network: {mode: off}\nlimits: {timeout: 2m}\nextends: ../team.yaml\n');
  const policy = load(
    put(
      'own.yaml',
      'base: auto\nextends: [team.yaml, lib/net.yaml]\nlimits: {timeout: 5m}\n' +
        'commands: [{decision: ask, match: [b], reason: x}]\n',
    ),
  );
  assert.equal(policy.base, 'guarded');
  assert.equal(policy.layers.length, 1);
  assert.deepEqual(
    policy.layers[0]?.commands.map(({ id }) => id),
    ['rule.team.1', 'rule.user.1'],
  );
  assert.equal(policy.network, 'off');
  assert.deepEqual(policy.limits, { timeoutMs: 120_000 });
});

test('files that extend each other in a circle are refused, and the circle named', () => {
  const file = put('a.yaml', 'name: a\nextends: b.yaml\n');
  put('b.yaml', 'extends: [sub/c.yaml]\n');
  put('sub/c.yaml', 'extends: ../a.yaml\n');
  assert.equal(
    refusal(() => load(file)),
    'Cannot use the policy: /sub/c.yaml:1:10: "extends" goes in a circle: ' +
      '/a.yaml → /b.yaml → /sub/c.yaml → /a.yaml',
  );
});

test('a file that extends itself, or nothing that is there, is refused', () => {
  assert.match(
    refusal(() => load(put('a.yaml', '\nextends: a.yaml\n'))),
    /a\.yaml:2:10: "extends" goes in a circle: \/a\.yaml → \/a\.yaml$/,
  );
  assert.match(
    refusal(() => load(put('b.yaml', 'extends: gone.yaml\n'))),
    /b\.yaml:1:10: there is no file "\/gone\.yaml"$/,
  );
});

test('an error in a file that is extended names that file', () => {
  put('team.yaml', 'bsae: auto\n');
  assert.match(
    refusal(() => load(put('a.yaml', 'extends: team.yaml\n'))),
    /\/team\.yaml:1:1: unknown key "bsae"/,
  );
});

test('what is no regular file of a sane size is refused before it is read', () => {
  assert.match(
    refusal(() => load(put('big.yaml', 'x'.repeat(10 * 2 ** 20)))),
    /10485760 bytes/,
  );
  assert.match(
    refusal(() => load(directory)),
    /it is not a regular file/,
  );
  assert.match(
    refusal(() => load('/dev/zero')),
    /it is not a regular file/,
  );
  assert.match(
    refusal(() => load(at('gone.yaml'))),
    /there is no such file/,
  );
});

test('without any file the profile asked for decides', () => {
  for (const fallback of policyBaseNames) {
    assert.deepEqual(loadPolicy({ ...places(), fallback }), policyFromProfile(fallback));
    const chosen = { base: fallback };
    assert.deepEqual(
      loadPolicy({ ...places(), chosen, fallback: 'auto' }),
      policyFromProfile(fallback),
    );
  }
  const versions = new Set(policyBaseNames.map((base) => policyFromProfile(base).version));
  assert.equal(versions.size, policyBaseNames.length);
});

test("the user's file decides where nothing is chosen, with the base of the door", () => {
  put('user.yaml', 'limits: {timeout: 5m}\n');
  const policy = loadPolicy({ ...places(), fallback: 'auto' });
  assert.equal(policy.base, 'auto');
  assert.deepEqual(policy.limits, { timeoutMs: 300_000 });
  const chosen = { file: put('other.yaml', 'base: locked\n') };
  assert.equal(loadPolicy({ ...places(), chosen, fallback: 'auto' }).base, 'locked');
  assert.throws(
    () => loadPolicy({ ...places(), chosen: { file: at('gone') }, fallback: 'auto' }),
    PolicyError,
  );
});

test('the managed file holds whatever else is chosen', (t) => {
  if (process.getuid?.() !== 0) {
    t.skip('only root makes a file of root');
    return;
  }
  put(
    'managed.yaml',
    'base: guarded\nnetwork: {mode: off}\nlimits: {timeout: 1m}\n' +
      'environment: {withhold: [AWS_*]}\napprovals: {expires: 5m, same_uid: false}\n',
  );
  put(
    'user.yaml',
    'base: trusted\nnetwork: {mode: on}\nlimits: {timeout: 1h, processes: 9}\n' +
      'approvals: {expires: 1h}\n',
  );
  for (const chosen of [undefined, { base: 'trusted' } as const]) {
    const choice = { ...places(), fallback: 'trusted' } as const;
    const policy = loadPolicy(chosen === undefined ? choice : { ...choice, chosen });
    assert.equal(policy.base, 'guarded');
    assert.deepEqual(
      policy.layers.map(({ kind, base }) => `${kind} ${base}`),
      [chosen === undefined ? 'user trusted' : 'profile trusted', 'managed guarded'],
    );
    assert.equal(policy.network, 'off');
    assert.equal(policy.limits.timeoutMs, 60_000);
    assert.deepEqual(policy.approvals, { expiresMs: 300_000, sameUid: false, sessionScope: true });
    assert.equal(isWithheldByPolicy(policy, 'AWS_SECRET'), true);
    assert.equal(isWithheldByPolicy(policy, 'XAWS_SECRET'), false);
  }
});

test('a file that decides and that others may write is refused', () => {
  chmodSync(put('user.yaml', 'base: auto\n'), 0o666);
  const loading = () => loadPolicy({ ...places(), fallback: 'guarded' });
  assert.match(refusal(loading), /user\.yaml:1:1: others may write it/);
  rmSync(at('user.yaml'));
  chmodSync(put('managed.yaml', 'base: locked\n'), 0o646);
  assert.match(refusal(loading), /managed\.yaml:1:1: others may write it/);
});

test('a file that is there and cannot be used stops everything', () => {
  put('user.yaml', 'base: guarded\nbase: trusted\n');
  const loading = () => loadPolicy({ ...places(), fallback: 'guarded' });
  assert.match(refusal(loading), /user\.yaml:2:1: duplicate key "base"/);
  rmSync(at('user.yaml'));
  mkdirSync(at('managed.yaml'));
  assert.throws(loading, PolicyError);
});

test('callers get the base of the rule that names them', () => {
  const policy = load(
    put(
      'a.yaml',
      'base: guarded\ncallers:\n  - {kind: person, base: auto}\n' +
        '  - {actor: ci, kind: agent, base: locked}\n  - {role: admin, base: trusted}\n',
    ),
  );
  const base = (actor: string, kind: 'agent' | 'person', roles: readonly ('admin' | 'agent')[]) =>
    strictestBase(
      policy.layers.map((layer) =>
        policyBaseFor(layer, { actor, kind, authenticatedBy: 'socket-owner', roles }),
      ),
    );
  assert.equal(base('x', 'agent', ['agent']), 'guarded');
  assert.equal(base('x', 'person', []), 'auto');
  assert.equal(base('ci', 'agent', ['agent']), 'locked');
  assert.equal(base('x', 'agent', ['admin']), 'trusted');
  assert.equal(base('x', 'person', ['admin']), 'auto');
  const [layer] = policy.layers;
  assert.equal(layer === undefined ? null : policyBaseFor(layer, null), 'guarded');
});

test('the place of the configuration follows XDG', () => {
  assert.equal(configDirectory({ XDG_CONFIG_HOME: '/x' }), '/x/trl');
  const usual = path.join(os.homedir(), '.config', 'trl');
  assert.equal(configDirectory({ XDG_CONFIG_HOME: '' }), usual);
  assert.equal(configDirectory({ XDG_CONFIG_HOME: 'relative' }), usual);
});

const trust = () => ({ directory: at('config/trl'), version });
const rule = 'commands: [{decision: block, match: [make, deploy], reason: not from here}]\n';

test('nothing of a project file holds before its directory is trusted', () => {
  mkdirSync(at('p'));
  assert.deepEqual(findProjectPolicy(at('p'), trust()), { kind: 'none' });
  put('p/.trl.yaml', rule);
  const found = findProjectPolicy(at('p'), trust());
  assert.equal(found.kind, 'untrusted');
  assert.match(found.kind === 'untrusted' ? found.warning : '', /is not trusted.*trl policy trust/);
  // A file of a stranger cannot stop the work either.
  put('p/.trl.yaml', 'nonsense: [');
  assert.equal(findProjectPolicy(at('p'), trust()).kind, 'untrusted');
});

test('once trusted, a project file holds as it was', () => {
  put('p/.trl.yaml', rule);
  trustProject(at('p'), trust());
  assert.equal(statSync(at('config/trl/trusted.json')).mode & 0o777, 0o600);
  assert.equal(statSync(at('config/trl')).mode & 0o777, 0o700);
  const found = findProjectPolicy(at('p'), trust());
  assert.equal(found.kind, 'trusted');
  const project = found.kind === 'trusted' ? found.file : null;
  const policy = loadPolicy({ ...places(), fallback: 'auto', project });
  assert.equal(policy.base, 'auto');
  assert.deepEqual(
    policy.layers.map(({ kind, base }) => `${kind} ${base}`),
    ['profile auto', 'project null'],
  );
  assert.notEqual(policy.version, policyFromProfile('auto').version);
  // By its real path: through a link it is the same directory.
  symlinkSync(at('p'), at('link'));
  assert.equal(findProjectPolicy(at('link'), trust()).kind, 'trusted');
});

test('a trusted file that changed, or is gone, stops the work until a person looked', () => {
  put('p/.trl.yaml', rule);
  trustProject(at('p'), trust());
  const denied = (what: RegExp): void => {
    assert.throws(
      () => findProjectPolicy(at('p'), trust()),
      (error) => isTrlError(error, 'POLICY_DENIED') && what.test(error.message),
    );
  };
  put('p/.trl.yaml', `${rule}# weaker\n`);
  denied(/has changed; look at it, then run: trl policy trust /);
  rmSync(at('p/.trl.yaml'));
  denied(/is gone; look at it/);
  assert.equal(trustProject(at('p'), trust()).sha256, null);
  assert.deepEqual(findProjectPolicy(at('p'), trust()), { kind: 'none' });
  put('p/.trl.yaml', rule);
  assert.equal(findProjectPolicy(at('p'), trust()).kind, 'untrusted');
});

test('what several say at once that they trust is all trusted', async () => {
  const source = new URL('../src/policy/files/trust.ts', import.meta.url).href;
  const script = `const { trustProject } = await import(${JSON.stringify(source)});
    const [, config, version, ...all] = process.argv;
    for (const one of all) trustProject(one, { directory: config, version });`;
  const groups = ['a', 'b', 'c'].map((name) =>
    Array.from({ length: 12 }, (_, index) => path.dirname(put(`${name}${index}/.trl.yaml`, rule))),
  );
  const each = groups.map((group) => {
    const given = ['--input-type=module', '-e', script, at('config/trl'), version, ...group];
    return promisify(execFile)(process.execPath, given);
  });
  await Promise.all(each);
  for (const one of groups.flat()) {
    assert.equal(findProjectPolicy(one, trust()).kind, 'trusted', one);
  }
});

test('a project file that loosens, is bad, or is a link cannot be trusted', () => {
  put('p/.trl.yaml', 'base: trusted\n');
  assert.match(
    refusal(() => trustProject(at('p'), trust())),
    /may only tighten: "base"/,
  );
  rmSync(at('p/.trl.yaml'));
  symlinkSync(put('elsewhere.yaml', rule), at('p/.trl.yaml'));
  assert.match(
    refusal(() => trustProject(at('p'), trust())),
    /it is a symbolic link/,
  );
  assert.equal(findProjectPolicy(at('p'), trust()).kind, 'untrusted');
  assert.match(
    refusal(() => trustProject(at('gone'), trust())),
    /there is no such directory/,
  );
});

test('a record of trust that cannot be read is never taken for an empty one', () => {
  put('p/.trl.yaml', rule);
  trustProject(at('p'), trust());
  const file = at('config/trl/trusted.json');
  const text = readFileSync(file, 'utf8');
  for (const bad of ['', '{}', text.replace('1', '2'), '{"version":1,"trusted":{"/x":"y"}}']) {
    writeFileSync(file, bad);
    assert.match(
      refusal(() => findProjectPolicy(at('p'), trust())),
      /no record of trusted directories/,
    );
    assert.match(
      refusal(() => trustProject(at('p'), trust())),
      /no record of trusted directories/,
    );
  }
  writeFileSync(file, text);
  assert.equal(findProjectPolicy(at('p'), trust()).kind, 'trusted');
});
