/** The bounds of a command: what was asked, what policy permits, and what is usual. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { resolveBounds } from '../src/session/bounds.ts';
import { isTrlError } from '../src/errors.ts';

const hour = 3_600_000;

test('the usual run time is that of how a command runs', () => {
  assert.equal(resolveBounds({}, 'foreground').timeoutMs, 60_000);
  assert.equal(resolveBounds({}, 'terminal').timeoutMs, 12 * hour);
  assert.equal(resolveBounds({}, 'detached').timeoutMs, null);
  for (const mode of ['foreground', 'terminal', 'detached'] as const) {
    assert.equal(resolveBounds({ timeout_ms: 5 }, mode).timeoutMs, 5, mode);
  }
});

test('the run time that policy permits bounds commands at a terminal, too', () => {
  const maxima = { timeoutMs: hour };
  assert.equal(resolveBounds({}, 'foreground', maxima).timeoutMs, 60_000);
  assert.equal(resolveBounds({}, 'terminal', maxima).timeoutMs, hour);
  assert.equal(resolveBounds({}, 'detached', maxima).timeoutMs, null);
  for (const mode of ['foreground', 'terminal'] as const) {
    const refused = (): unknown => resolveBounds({ timeout_ms: hour + 1 }, mode, maxima);
    assert.throws(refused, (error) => isTrlError(error, 'POLICY_DENIED'), mode);
    const beyond = (): unknown => resolveBounds({ timeout_ms: 200 * 24 * hour }, mode);
    assert.throws(beyond, (error) => isTrlError(error, 'INVALID_PARAMS'), mode);
  }
});
