// npm run prove: hundreds of random histories of commands, each told exactly, on overlays and
// without. TRL_HISTORIES: how many of each (default 300).
import { strict as assert } from 'node:assert';
import * as fc from 'fast-check';
import { LayerAttributes } from '../../src/workspace/changes/layer-attributes.ts';
import { history, proveIndex, proveOverlay } from '../support/changes-histories.ts';
import { noOverlay } from '../support/changes.ts';

const numRuns = Number(process.env['TRL_HISTORIES'] ?? 300);
const reason = noOverlay();
assert.equal(reason, false, 'this proof needs an overlay');

using attributes = new LayerAttributes();
await fc.assert(
  fc.asyncProperty(history, (steps) => proveOverlay(steps, attributes)),
  { numRuns },
);
process.stdout.write(`${numRuns} histories on overlays: every command told exactly\n`);
await fc.assert(fc.asyncProperty(history, proveIndex), { numRuns });
process.stdout.write(`${numRuns} histories without: every command told exactly\n`);
