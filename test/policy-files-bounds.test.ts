// What a policy leaves of the bounds and grants that a caller asks for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Bounds } from '../src/command.ts';
import { isTrlError } from '../src/errors.ts';
import { boundsUnder, grantsUnder, networkUnder } from '../src/policy/bounds.ts';

const usual: Bounds = {
  timeoutMs: 60_000,
  idleTimeoutMs: null,
  graceMs: 5_000,
  cpuSeconds: null,
  processesMax: 512,
  openFilesMax: 4_096,
  fileBytesMax: null,
  memoryBytesMax: null,
  memoryRequired: false,
  addressSpaceBytesMax: null,
  journalBytesMax: 1_000,
};
const denied = (text: RegExp) => (error: unknown) =>
  isTrlError(error, 'POLICY_DENIED') && text.test(error.message);
const none = new Set<keyof Bounds>();

test('a policy without limits changes no bound', () => {
  assert.deepEqual(boundsUnder({ name: 'p', limits: {} }, usual, none, 'foreground'), usual);
});

test('what nobody asked for is lowered to the maximum', () => {
  const limits = { timeoutMs: 10_000, idleTimeoutMs: 500, processes: 1_000, memoryBytes: 4_096 };
  assert.deepEqual(boundsUnder({ name: 'p', limits }, usual, none, 'foreground'), {
    ...usual,
    timeoutMs: 10_000,
    idleTimeoutMs: 500,
    memoryBytesMax: 4_096,
    memoryRequired: true,
  });
});

test('a detached command has a run time of its own', () => {
  const limits = { timeoutMs: 10_000, detachedTimeoutMs: 30_000 };
  const bounds = { ...usual, timeoutMs: null };
  assert.equal(boundsUnder({ name: 'p', limits }, bounds, none, 'detached').timeoutMs, 30_000);
});

test('what was asked for above the maximum is refused, not lowered', () => {
  const policy = { name: 'p', limits: { timeoutMs: 10_000, cpuSeconds: 5 } };
  assert.throws(
    () => boundsUnder(policy, usual, new Set(['timeoutMs'] as const), 'foreground'),
    denied(/bound timeoutMs by 60000 ms: the policy "p" gives at most 10000 ms/),
  );
  assert.throws(
    () => boundsUnder(policy, usual, new Set(['cpuSeconds'] as const), 'foreground'),
    denied(/bound cpuSeconds by no bound/),
  );
  const asked = { ...usual, timeoutMs: 9_000 };
  const bounds = boundsUnder(policy, asked, new Set(['timeoutMs'] as const), 'foreground');
  assert.equal(bounds.timeoutMs, 9_000);
});

test('network is given, asked for or refused', () => {
  assert.deepEqual(
    (['on', 'ask', 'off'] as const).map((most) => networkUnder(most, 'on')),
    ['given', 'ask', 'refused'],
  );
  assert.equal(networkUnder('off', 'off'), 'given');
});

const files = { read: [['~/data', '/srv/**']], write: [['/srv/out']], deny: ['/srv/private'] };
const links = new Map([['/home/u/data/link', '/etc']]);
const place = { home: '/home/u', real: (name: string) => links.get(name) ?? name };
const under = (read: readonly string[], write: readonly string[] = []) =>
  grantsUnder(
    { name: 'p', files },
    { read: { allow: read, deny: ['/x'] }, write: { allow: write, deny: [] } },
    place,
  );

test('grants inside the lists stay, and what is denied is added', () => {
  assert.deepEqual(under(['/home/u/data/a', '~/data', '/srv', '/srv/**'], ['/srv/out/x/']), {
    read: { allow: ['/home/u/data/a', '~/data', '/srv', '/srv/**'], deny: ['/x', '/srv/private'] },
    write: { allow: ['/srv/out/x/'], deny: ['/srv/private'] },
  });
  const open = { name: 'p', files: { read: [], write: [], deny: [] } };
  const grants = { read: { allow: ['/any'], deny: [] }, write: { allow: ['/any'], deny: [] } };
  assert.deepEqual(grantsUnder(open, grants, place), grants);
});

for (const entry of [
  '/home/u/database',
  '/home/u/data/../.ssh',
  '/home/u',
  '/',
  '/home/u/data/link',
  '/srv/*/x',
  'relative',
]) {
  test(`a grant outside the lists is refused: ${entry}`, () => {
    assert.throws(() => under([entry]), denied(/does not list it/));
  });
}

test('a grant for writing must be in the lists for reading as well', () => {
  assert.throws(() => under([], ['/srv']), denied(/grant writing "\/srv"/));
  const policy = { name: 'p', files: { read: [['/a']], write: [['/b']], deny: [] } };
  const grants = { read: { allow: [], deny: [] }, write: { allow: ['/b'], deny: [] } };
  assert.throws(() => grantsUnder(policy, grants, place), denied(/grant reading "\/b"/));
});

test('every list must hold a grant: of the user, of the managed file, of the project', () => {
  const policy = { name: 'p', files: { read: [['/a'], ['/a/b']], write: [], deny: [] } };
  const grant = (one: string) =>
    grantsUnder(
      policy,
      { read: { allow: [one], deny: [] }, write: { allow: [], deny: [] } },
      place,
    );
  assert.deepEqual(grant('/a/b/c').read.allow, ['/a/b/c']);
  assert.throws(() => grant('/a'), denied(/does not list it/));
});
