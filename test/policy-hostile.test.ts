// Texts made to keep the analysis busy: what is decided on them, whatever it costs. All of them:
// `npm run prove -- test/prove/long-tests.ts`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFull, rounds } from './support/form.ts';
import { costOf, hostileInput, mutant, shapes, warmUp } from './support/policy-ceiling.ts';

const removal = {
  bash: 'rm -rf build\n',
  powershell: 'Remove-Item -Recurse -Force build\n',
  cmd: 'rmdir /s /q build\r\n',
};

test('a hostile text of 64 KiB is decided on, and a block in front of it is found', async () => {
  await warmUp();
  for (const shape of shapes.filter((_, at) => isFull || at % 8 === 0)) {
    const { name, shell, text } = hostileInput(shape, 65_000);
    const { decision } = await costOf({ name, shell, text: removal[shape.shell] + text }, 1);
    assert.equal(decision, 'block', name);
  }
});

test('a hostile text of 1 MiB is never allowed, and says what bound it is over', async () => {
  for (const shape of shapes.filter((_, at) => at % (isFull ? 5 : 10) === 0)) {
    const input = hostileInput(shape, 1_048_576);
    if (Buffer.byteLength(input.text) <= 65_536) continue;
    const { decision, rules } = await costOf(input, 1);
    assert.notEqual(decision, 'allow', input.name);
    assert.ok(decision === 'block' || rules.includes('limit.bytes'), input.name);
  }
});

test('labelled commands changed at random are decided on without an error', async () => {
  for (let seed = 1; seed <= rounds(40, 100); seed += 1) {
    const { decision } = await costOf(mutant(seed, [1_024, 16_384][seed % 2] ?? 1_024), 1);
    assert.ok(['allow', 'ask', 'block'].includes(decision));
  }
});
