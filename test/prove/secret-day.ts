// npm run prove: a thousand commands that use twenty secrets in every way, then a search for them.
import assert from 'node:assert/strict';
import { dayOfUse } from '../support/secret-day.ts';

const { commands, bytes, leaks, hidden } = await dayOfUse(
  process.env['TRL_PROVE'] === 'full' ? 1_000 : 80,
);
process.stdout.write(
  `${commands} commands, ${hidden} replacements, ` +
    `${bytes.traffic} bytes of traffic and ${bytes.kept} bytes kept were searched; ` +
    `found: ${JSON.stringify(leaks)}\n`,
);
assert.deepEqual(leaks, { traffic: [], kept: [], log: [] });
