// Random histories of commands: what is told is exact after each, whatever was cleared before.
// Hundreds of them: test/prove/changes-battery.ts.
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { LayerAttributes } from '../src/workspace/changes/layer-attributes.ts';
import { history, proveIndex, proveOverlay } from './support/changes-histories.ts';
import { noOverlay } from './support/changes.ts';

test(
  'every command of a history on an overlay is told exactly',
  { skip: noOverlay() },
  async () => {
    using attributes = new LayerAttributes();
    const prove = fc.asyncProperty(history, (steps) => proveOverlay(steps, attributes));
    await fc.assert(prove, { numRuns: 8 });
  },
);

test('every command of a history without an overlay is told exactly', async () => {
  await fc.assert(fc.asyncProperty(history, proveIndex), { numRuns: 8 });
});
