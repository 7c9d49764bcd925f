// What the documents show at a terminal is typed into a shell, and prints what is shown.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { whyNoBox } from './support/box.ts';
import { blocks, Meanings, stepsOf } from './support/documents.ts';
import { notTyped, scenes, startReader } from './support/documents-scenes.ts';
import type { Reader } from './support/reader.ts';

const shown = blocks.filter(
  (block) => block.language === 'console' && !notTyped.has(stepsOf(block)[0]?.command ?? ''),
);

let reader: Reader;
before(async () => {
  if (whyNoBox === false) reader = await startReader();
});
after(() => reader?.daemon.stop());

test('every document that shows commands has a scene, and none is for nothing', () => {
  const files = new Set(shown.map(({ file }) => file));
  assert.deepEqual(scenes.map(({ file }) => file).toSorted(), [...files].toSorted());
});

for (const scene of scenes) {
  test(`what ${scene.file} shows at a terminal is what comes`, { skip: whyNoBox }, async (t) => {
    const missing = scene.needs?.find((name) => spawnSync(name, ['--version']).error);
    if (missing !== undefined) {
      t.skip(`there is no ${missing}`);
      return;
    }
    const meanings = new Meanings(scene.prepare?.(reader));
    const own = shown.filter(({ file }) => file === scene.file);
    const { cwd = '.', answers = {} } = scene;
    await reader.reads(own, { meanings, cwd, answers, env: scene.env?.(reader) ?? {} });
  });
}
