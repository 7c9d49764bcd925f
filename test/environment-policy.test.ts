// What policy says of variables that a command asks for, by profile, by file, by what holds it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { PolicyProfile } from '../src/command.ts';
import type { Exposure, RequestedVariable } from '../src/policy/decide.ts';
import { readPolicy } from '../src/policy/files/load.ts';
import { PolicyError } from '../src/policy/files/policy-file.ts';
import { createPolicyJudge } from '../src/policy/judge.ts';
import {
  policyDecisions,
  joinPolicyLayers,
  type PolicyLayer,
  type Policy,
} from '../src/policy/policy.ts';
import { policyFromProfile } from '../src/policy/profiles.ts';

const held: Exposure = {
  sandbox: 'bubblewrap',
  level: 'full',
  protectedPaths: true,
  network: 'off',
  keysHidden: true,
  undo: true,
  extraGrants: [],
};
const online: Exposure = { ...held, network: 'host' };
/** Hosts that nobody has to be asked about are a way out, too. */
const byHosts: Exposure = { ...held, network: 'hosts', askedHosts: [] };
const bare: Exposure = { ...held, sandbox: 'none', level: 'none' };

const secret = (name: string): RequestedVariable => ({ name, isSecret: true });
const plain = (name: string): RequestedVariable => ({ name, isSecret: false });

interface Case {
  readonly reach?: Exposure;
  readonly requested?: readonly RequestedVariable[];
  readonly variables?: readonly string[];
  readonly carried?: readonly string[];
  readonly command?: string;
}

function verdictOf(
  policy: Policy,
  { reach = held, requested = [], variables = [], carried = [], command }: Case,
) {
  const judge = createPolicyJudge(policy, null, null);
  const reading = judge.parse(command ?? 'true', 'bash');
  return judge.decide(reading, { facts: null, exposure: reach, variables, carried, requested });
}

/** The rules about variables, as text; the decision first. */
function said(policy: Policy, one: Case): string {
  const { decision, rules } = verdictOf(policy, one);
  const found = rules.filter(({ id }) => /^(?:secret|environment)\./.test(id));
  return [decision, ...found.map((rule) => `${rule.id}=${rule.decision}`)].join(' ');
}

const profiles: readonly (readonly [PolicyProfile, Case, string])[] = [
  ['auto', { requested: [secret('A')] }, 'allow secret.grant=allow'],
  ['auto', { requested: [secret('A')], reach: online }, 'ask secret.grant=ask'],
  ['auto', { requested: [secret('A')], reach: byHosts }, 'ask secret.grant=ask'],
  ['auto', { requested: [plain('A')], reach: byHosts }, 'allow environment.grant=allow'],
  ['auto', { requested: [secret('A')], reach: bare }, 'ask secret.grant=ask'],
  [
    'auto',
    { requested: [secret('A')], reach: { ...held, level: 'root-uid' } },
    'ask secret.grant=ask',
  ],
  [
    'auto',
    { requested: [secret('A')], reach: { ...held, extraGrants: ['x'] } },
    'ask secret.grant=ask',
  ],
  ['auto', { requested: [plain('A')] }, 'allow environment.grant=allow'],
  ['auto', { variables: ['A'] }, 'allow'],
  ['auto', { variables: ['LD_PRELOAD'] }, 'ask environment.injection=ask'],
  [
    'auto',
    { requested: [plain('NODE_OPTIONS')] },
    'ask environment.injection=ask environment.grant=allow',
  ],
  ['guarded', { requested: [secret('A')] }, 'ask secret.grant=ask'],
  ['guarded', { requested: [plain('A')] }, 'ask environment.grant=ask'],
  ['guarded', { variables: ['BASH_ENV'] }, 'ask environment.injection=ask'],
  ['guarded', { carried: ['BASH_ENV'], command: 'make' }, 'ask environment.injection=ask'],
  // What is started without a shell gets nothing that the session carries.
  ['guarded', { carried: ['BASH_ENV'], command: 'pwd' }, 'allow'],
  [
    'guarded',
    { carried: ['BASH_ENV'], command: 'pwd', requested: [plain('A')] },
    'ask environment.injection=ask environment.grant=ask',
  ],
  ['auto', { carried: ['LD_PRELOAD', 'A'] }, 'ask environment.injection=ask'],
  ['locked', { requested: [secret('A')] }, 'block secret.grant=block'],
  ['locked', { requested: [plain('A')] }, 'block environment.grant=block'],
  ['locked', { variables: ['GIT_SSH_COMMAND'] }, 'block environment.injection=block'],
  ['trusted', { requested: [secret('A')], reach: bare }, 'allow secret.grant=allow'],
  ['trusted', { variables: ['LD_PRELOAD'] }, 'allow environment.injection=allow'],
];
for (const [profile, one, wanted] of profiles) {
  test(`${profile}: ${JSON.stringify(one)} → ${wanted}`, () => {
    const { command = 'pwd' } = one;
    assert.equal(said(policyFromProfile(profile), { ...one, command }), wanted);
  });
}

const fileOf = (text: string, kind: 'user' | 'managed' | 'project' = 'user'): Policy =>
  readPolicy(text, { file: 'p.yaml', kind, version: '9.9.9' });

const files: readonly (readonly [string, Case, string])[] = [
  [
    'base: auto\nsecrets: {block: [PROD_*]}',
    { requested: [secret('PROD_KEY')] },
    'block secret.grant=block',
  ],
  [
    'base: auto\nsecrets: {block: [PROD_*]}',
    { requested: [secret('DEV_KEY')] },
    'allow secret.grant=allow',
  ],
  ['base: auto\nsecrets: {ask: [A]}', { requested: [secret('A')] }, 'ask secret.grant=ask'],
  [
    'base: guarded\nsecrets: {allow: [A]}',
    { requested: [secret('A')], command: 'make' },
    'ask secret.grant=allow',
  ],
  [
    'base: guarded\nsecrets: {allow: [A]}',
    { requested: [secret('A')], command: 'pwd' },
    'allow secret.grant=allow',
  ],
  [
    'base: locked\nsecrets: {allow: [A]}',
    { requested: [secret('A')], command: 'pwd' },
    'allow secret.grant=allow',
  ],
  [
    'base: auto\nsecrets: {allow: ["A*"], ask: [AB], block: [ABC]}',
    { requested: [secret('ABC')] },
    'block secret.grant=block',
  ],
  [
    'base: auto\nsecrets: {block: [A]}',
    { requested: [plain('A')] },
    'allow environment.grant=allow',
  ],
  [
    'base: auto\nenvironment: {grants: {block: [A]}}',
    { requested: [plain('A')] },
    'block environment.grant=block',
  ],
  [
    'base: auto\nenvironment: {grants: {block: [A]}}',
    { requested: [secret('A')] },
    'allow secret.grant=allow',
  ],
  [
    'base: auto\nenvironment: {grants: {allow: [NODE_OPTIONS]}}',
    { variables: ['NODE_OPTIONS'] },
    'allow environment.injection=allow',
  ],
  [
    'base: auto\nenvironment: {grants: {allow: ["NODE_*"]}}',
    { variables: ['NODE_OPTIONS'] },
    'ask environment.injection=ask',
  ],
  [
    'base: auto\nenvironment: {grants: {block: ["LD_*"]}}',
    { variables: ['LD_PRELOAD'] },
    'block environment.injection=block',
  ],
  // A caller's own variable is no grant of the runtime's.
  ['base: auto\nenvironment: {grants: {block: [A]}}', { variables: ['A'] }, 'allow'],
];
for (const [text, one, wanted] of files) {
  test(`${JSON.stringify(text)}: ${JSON.stringify(one)} → ${wanted}`, () => {
    assert.equal(said(fileOf(text), one), wanted);
  });
}

const shows: readonly (readonly [string, string])[] = [
  ['echo "$DEPLOY_TOKEN"; echo "$DEPLOY_TOKEN" | rev | base64', 'DEPLOY_TOKEN'],
  ['sh -c \'echo "token: $DEPLOY_TOKEN"\'', 'DEPLOY_TOKEN'],
  ['echo "$T_TOKEN" | wc -c', 'T_TOKEN'],
  ['printf %s "$NPM_TOKEN" > .npmrc', 'NPM_TOKEN'],
  ['cat > .npmrc <<EOF\n//r/:_authToken=$NPM_TOKEN\nEOF', 'NPM_TOKEN'],
  ['cat <<< "$GH_TOKEN"', 'GH_TOKEN'],
  ['declare -p API_KEY', 'API_KEY'],
  ['python3 -c "import os; print(os.environ[\'API_KEY\'])"', 'API_KEY'],
];

test('auto lets a command show a secret that it was granted, where it is held', () => {
  const auto = policyFromProfile('auto');
  for (const [command, name] of shows) {
    const grant = { command, requested: [secret(name)] };
    assert.equal(verdictOf(auto, grant).decision, 'allow', command);
    assert.equal(verdictOf(auto, { ...grant, reach: online }).decision, 'ask', command);
  }
  for (const [command, name] of [
    ['echo "$T_TOKEN" | docker login --password-stdin -u me', 'T_TOKEN'],
    ['gh auth login --with-token <<< "$GH_TOKEN"', 'GH_TOKEN'],
  ] as const) {
    const grant = { command, requested: [secret(name)] };
    assert.equal(verdictOf(auto, grant).decision, 'block', 'logging in is a person’s');
  }
  const [first] = shows;
  assert.ok(first !== undefined);
  const [command, name] = first;
  const others: readonly Case[] = [
    { command },
    { command, variables: [name] },
    { command, requested: [plain(name)] },
    { command, requested: [secret('OTHER_TOKEN')] },
    { command, requested: [secret(name)], reach: bare },
    { command, requested: [secret(name)], reach: { ...held, level: 'root-uid' } },
    { command, requested: [secret(name)], reach: { ...held, extraGrants: ['x'] } },
    { command: `${command}; echo "$B_TOKEN"`, requested: [secret(name)] },
    { command: `echo "$${name}" "$B_TOKEN"`, requested: [secret(name)] },
    { command: `echo "$${name}$B_TOKEN"`, requested: [secret(name)] },
    { command: `sh -c 'echo "$${name}"; echo "$B_TOKEN"'`, requested: [secret(name)] },
    { command: `echo "$${name}"; cat .env`, requested: [secret(name)] },
  ];
  for (const one of others) assert.equal(verdictOf(auto, one).decision, 'block', one.command);
  const both = { command: `echo "$${name}" "$B_TOKEN"`, requested: [secret(name)] };
  const granted = { ...both, requested: [secret(name), secret('B_TOKEN')] };
  assert.equal(verdictOf(auto, granted).decision, 'allow');
  // Nothing but what was granted is among the variables.
  const all = { command: `echo "$${name}"; env`, requested: [secret(name)] };
  assert.equal(verdictOf(auto, all).decision, 'allow');
  for (const profile of ['guarded', 'locked'] as const) {
    const verdict = verdictOf(policyFromProfile(profile), { command, requested: [secret(name)] });
    assert.equal(verdict.decision, 'block', profile);
  }
});

test('the strictest layer wins: what one allows, another one still asks or blocks', () => {
  const allow = fileOf('base: guarded\nsecrets: {allow: [A]}').layers;
  const block = fileOf('secrets: {block: [A]}', 'managed').layers.map((layer) => ({
    ...layer,
    base: null,
  }));
  const joined = joinPolicyLayers('j', [...allow, ...block], [{ network: 'off' }], 'k');
  const one = { requested: [secret('A')], command: 'pwd' };
  assert.equal(said(joined, one), 'block secret.grant=block');
  const judge = createPolicyJudge(
    joinPolicyLayers('j', allow, [{ network: 'off' }], 'k'),
    null,
    'locked',
  );
  const reading = judge.parse('pwd', 'bash');
  const known = { facts: null, exposure: held, variables: [], requested: [secret('A')] };
  assert.equal(judge.decide(reading, known).decision, 'block');
});

test('what passes auto as its caller says so is asked about what no rule allows it to get', () => {
  const decided = (text: string, atLeast: 'auto' | null, requested = [secret('A')]): string => {
    const judge = createPolicyJudge(fileOf(text), null, atLeast);
    const known = { facts: null, exposure: held, variables: [], requested };
    return judge.decide(judge.parse('make', 'bash'), known).decision;
  };
  for (const [text, own, asked] of [
    ['base: auto', 'allow', 'ask'],
    ['base: trusted', 'allow', 'ask'],
    ['base: auto\nsecrets: {allow: [A]}', 'allow', 'allow'],
    ['base: auto\nsecrets: {allow: [B]}', 'allow', 'ask'],
    ['base: auto\nsecrets: {block: [A]}', 'block', 'block'],
  ] as const) {
    assert.deepEqual([decided(text, null), decided(text, 'auto')], [own, asked], text);
  }
  assert.equal(decided('base: auto', 'auto', [plain('A')]), 'ask');
  const rule = 'base: auto\nenvironment: {grants: {allow: [A]}}';
  assert.equal(decided(rule, 'auto', [plain('A')]), 'allow');
});

test('a rule names the variable', () => {
  const { rules } = verdictOf(policyFromProfile('guarded'), {
    requested: [secret('MY_TOKEN'), plain('MY_PLAIN')],
    variables: ['LD_AUDIT'],
  });
  const reasons = rules.map(({ reason }) => reason).join('\n');
  for (const name of ['MY_TOKEN', 'MY_PLAIN', 'LD_AUDIT']) assert.match(reasons, RegExp(name));
  const three = { requested: ['A', 'B', 'C'].map(secret) };
  const found = verdictOf(policyFromProfile('locked'), three).rules.filter(
    ({ id }) => id === 'secret.grant',
  );
  assert.deepEqual(
    found.map(({ evidence }) => evidence),
    ['A', 'B', 'C'],
  );
});

test('what is asked for changes the version of a policy', () => {
  const one = fileOf('base: auto\nsecrets: {block: [A]}').version;
  assert.notEqual(one, fileOf('base: auto\nsecrets: {block: [B]}').version);
});

const wrong: readonly (readonly [string, 'user' | 'managed' | 'project', RegExp])[] = [
  ['secrets: {allow: [A]}', 'project', /p\.yaml:1:11: a project's file may only tighten/],
  ['environment: {grants: {allow: [A]}}', 'project', /1:24: a project's file may only tighten/],
  ['secrets: {allow: [A]}', 'managed', /1:11: "allow" has no effect in a managed file/],
  ['secrets: {alow: [A]}', 'user', /1:11: unknown key "alow"; did you mean "allow"/],
  ['secrets: {ask: ["A B"]}', 'user', /1:17: an entry of "ask" must be the name of a variable/],
  ['secrets: {ask: ["*"]}', 'user', /must be the name of a variable/],
  ['secrets: {allow: [LD_PRELOAD]}', 'user', /1:19: no secret is called so/],
  ['secrets: [A]', 'user', /"secrets" must be a mapping/],
];
for (const [text, kind, wanted] of wrong) {
  test(`refused in a ${kind} file: ${text}`, () => {
    const failed = (error: unknown): boolean =>
      error instanceof PolicyError && wanted.test(error.message);
    assert.throws(() => fileOf(text, kind), failed);
  });
}

test('a project’s file may ask and block', () => {
  const text = 'secrets: {ask: [A], block: [B]}\nenvironment: {grants: {block: [C]}}';
  assert.ok(fileOf(text, 'project').layers[0]?.grants !== undefined);
});

test('another layer never makes a verdict milder, nor does another variable', () => {
  const name = fc.constantFrom('A', 'AB', 'PROD_KEY', 'LD_PRELOAD', 'NODE_OPTIONS');
  const pattern = fc.constantFrom('A', 'A*', 'PROD_*', 'LD_*', 'LD_PRELOAD', 'NODE_OPTIONS');
  const rules = fc.record({
    allow: fc.array(pattern, { maxLength: 2 }),
    ask: fc.array(pattern, { maxLength: 2 }),
    block: fc.array(pattern, { maxLength: 2 }),
  });
  const layer = fc
    .record({
      base: fc.constantFrom<PolicyProfile | null>('trusted', 'auto', 'guarded', 'locked', null),
      grants: fc.record({ secrets: rules, environment: rules }),
    })
    .map(({ base, grants }): PolicyLayer => ({
      name: 'l',
      kind: 'user',
      base,
      callers: [],
      commands: [],
      grants,
    }));
  const requested = fc.array(fc.record({ name, isSecret: fc.boolean() }), { maxLength: 3 });
  const reach = fc.constantFrom(held, online, bare);
  const strictness = (layers: readonly PolicyLayer[], one: Case): number => {
    const policy = joinPolicyLayers('p', layers, [{ network: 'on' }], 'k');
    return policyDecisions.indexOf(verdictOf(policy, { ...one, command: 'pwd' }).decision);
  };
  fc.assert(
    fc.property(layer, layer, requested, fc.array(name, { maxLength: 2 }), reach, (...drawn) => {
      const [first, second, asked, variables, where] = drawn;
      const based = { ...first, base: first.base ?? 'auto' } as const;
      const one = { requested: asked, variables, reach: where };
      const alone = strictness([based], one);
      assert.ok(strictness([based, second], one) >= alone);
      assert.ok(strictness([based], { ...one, requested: asked.slice(1) }) <= alone);
    }),
  );
});
