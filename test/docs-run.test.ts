// What the documents show is done as they show it, against one runtime: commands are typed into a
// shell and print what is shown; programs run; messages are what the wire has.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import type { TestContext } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { blocks, Meanings, nameOf, stepsOf } from './support/documents.ts';
import { programs, worldOf } from './support/documents-programs.ts';
import { apart, notTyped, scenes, startReader } from './support/documents-scenes.ts';
import type { Reader } from './support/reader.ts';

const shown = blocks.filter(
  (block) => block.language === 'console' && !notTyped.has(stepsOf(block)[0]?.command ?? ''),
);

let reader: Reader;
before(async () => {
  if (whyNoBox === false) reader = await startReader();
});
after(() => reader?.daemon.stop());

function lacks(t: TestContext, needs: readonly string[] = []): boolean {
  const missing = needs.find((name) => spawnSync(name, ['--version']).error);
  if (missing !== undefined) t.skip(`there is no ${missing}`);
  return missing !== undefined;
}

test('every document that shows commands has a scene, and none is for nothing', () => {
  const files = new Set(shown.map(({ file }) => file));
  assert.deepEqual(scenes.map(({ file }) => file).toSorted(), [...files].toSorted());
});

for (const scene of scenes) {
  test(`what ${scene.file} shows at a terminal is what comes`, { skip: whyNoBox }, async (t) => {
    if (lacks(t, scene.needs)) return;
    const meanings = new Meanings(scene.prepare?.(reader));
    const own = shown.filter(({ file }) => file === scene.file);
    const { cwd = '.', answers = {} } = scene;
    const env = scene.env?.(reader) ?? {};
    const alone =
      scene.apart === undefined ? {} : { apart: [scene.apart, apart('own')(reader)] as const };
    await reader.reads(own, { meanings, cwd, answers, env, ...alone });
  });
}

for (const program of programs) {
  test(`it is as shown: ${program.block}`, { skip: whyNoBox }, async (t) => {
    if (lacks(t, program.needs)) return;
    const block = blocks.find((one) => nameOf(one).startsWith(program.block));
    assert.ok(block !== undefined, 'the document shows it');
    await program.run(block, worldOf(reader));
  });
}
