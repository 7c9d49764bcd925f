// Which sessions share a view: those that may see, write and reach the same, and nobody else's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionRecord } from '../src/session/record.ts';
import { chooseViewId } from '../src/session/views.ts';

const none = { allow: [], deny: [] };
const record: SessionRecord = {
  id: 's-1',
  name: null,
  shellAsked: 'bash',
  shell: { dialect: 'bash', path: '/bin/bash' },
  substituted: false,
  workspace: '/w',
  cwd: '/w',
  grants: { sandbox: 'bubblewrap', network: 'off', files: { read: none, write: none } },
  bounds: {},
  carry: 'cwd+env',
  envKeys: [],
  owner: 'uid:0',
  createdAt: 1,
  lastActivity: 1,
  commandCount: 0,
  assurance: null,
  workspaceMode: 'direct',
  policy: null,
};
const { grants } = record;
const { files } = grants;
const view = chooseViewId(record, []);

test('sessions that differ in nothing that counts share a view', () => {
  const alike: Partial<SessionRecord>[] = [
    { name: 'other', cwd: '/w/in', envKeys: ['A'], createdAt: 2, commandCount: 3 },
    { injected: ['TOKEN'], requested: ['B'], workspaceId: 'w-1', client: 'c' },
  ];
  for (const more of alike) assert.equal(chooseViewId({ ...record, id: 's-2', ...more }, []), view);
  assert.notEqual(view, record.id);
});

test('each rule and each actor has views of its own', () => {
  const rules = { read: { allow: [], deny: ['x'] }, write: { deny: [] } };
  const others: Partial<SessionRecord>[] = [
    { workspace: '/v' },
    { owner: 'token:1' },
    { policy: 'guarded' },
    { workspaceRules: rules },
    { workspaceRules: { ...rules, write: { deny: ['x'] } } },
    { grants: { ...grants, network: 'host' } },
    { grants: { ...grants, files: { ...files, read: { ...none, allow: ['/x'] } } } },
    { grants: { ...grants, files: { ...files, read: { ...none, deny: ['/x'] } } } },
    { grants: { ...grants, files: { ...files, write: { ...none, allow: ['/x'] } } } },
    { grants: { ...grants, files: { ...files, write: { ...none, deny: ['/x'] } } } },
  ];
  const views = others.map((more) => chooseViewId({ ...record, ...more }, []));
  assert.equal(new Set([view, ...views]).size, others.length + 1);
});

test('what is staged, thrown away or not layered is in no view of others', () => {
  const own: Partial<SessionRecord>[] = [
    { workspaceMode: 'staged' },
    { workspaceMode: 'discard' },
    { workspace: null },
    { grants: { ...grants, sandbox: 'none' } },
  ];
  for (const more of own) assert.equal(chooseViewId({ ...record, id: 's-2', ...more }, []), 's-2');
  const closed = { id: 's-1', view, isViewOwn: true } as const;
  const next = chooseViewId({ ...record, id: 's-2' }, [closed]);
  assert.notEqual(next, view);
  assert.equal(chooseViewId({ ...record, id: 's-3' }, [closed, { id: 's-2', view: next }]), next);
});
