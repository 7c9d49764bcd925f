// Programs that people use, through the bridge to servers of this test: with TLS passed through and
// with TLS terminated, each once as the rules allow and once as they deny. More of them:
// `npm run prove -- test/prove/network-programs.ts`.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openCredentialBox, type CredentialBox } from './support/credential-box.ts';
import { usualCredentialPrograms } from './support/credential-programs.ts';
import { whyNoBox } from './support/box.ts';
import { usualPrograms } from './support/network-programs.ts';
import { openProgramBox, programWays, type ProgramBox } from './support/program-ways.ts';

describe('programs', { skip: whyNoBox, concurrency: 2 }, () => {
  let box: ProgramBox;

  before(async () => {
    box = await openProgramBox();
  });
  after(async () => {
    await box?.[Symbol.asyncDispose]();
  });

  for (const [name, program] of Object.entries(usualPrograms)) {
    test(`${name}: passed through, terminated, and denied`, { timeout: 120_000 }, async (t) => {
      for (const way of programWays) {
        const result = await box.run(program, way);
        if (result.kind === 'skipped') {
          t.skip(result.why);
          return;
        }
        assert.equal(
          result.kind,
          'ok',
          `${way.name}: ${result.kind === 'failed' ? result.why : ''}`,
        );
      }
    });
  }
});

describe('programs with a secret that they never have', { skip: whyNoBox, concurrency: 2 }, () => {
  let box: CredentialBox;

  before(async () => {
    box = await openCredentialBox();
  });
  after(async () => {
    await box?.[Symbol.asyncDispose]();
  });

  for (const [name, program] of Object.entries(usualCredentialPrograms)) {
    test(`${name}: the server gets the value, and the program does not`, async (t) => {
      const result = await box.run(program);
      if (result.kind === 'skipped') t.skip(result.why);
      else assert.equal(result.kind, 'ok', result.kind === 'failed' ? result.why : '');
    });
  }
});
