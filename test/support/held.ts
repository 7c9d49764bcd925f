/** Attacks in a copy of a project, and which of their changes the commit filter must hold. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeldReason } from '../../src/workspace/commit/commit-filter.ts';
import { itemsBetween, judge, makeTrees, shell } from './commit.ts';

/** Shell that makes a file with something in it, or adds to one. */
export const evil = (name: string): string => `mkdir -p "$(dirname ${name})"; echo evil >>${name}`;

export type Row = readonly [
  what: string,
  setup: string,
  attack: string,
  held: Readonly<Record<string, HeldReason>>,
];

/** A test for each: what is named is held, and nothing else of the attack. */
export function testHeld(rows: readonly Row[]): void {
  for (const [what, setup, attack, held] of rows) {
    test(`held: ${what}`, async () => {
      using trees = makeTrees(setup);
      if (what.startsWith('a repository that holds')) {
        shell('git init -q .; git config core.hooksPath real/hooks', trees.base);
      }
      trees.run(attack);
      const items = itemsBetween(trees.real, trees.session);
      const found = await judge(trees, items);
      const ofAttack = [...found].filter(([name]) => name in held);
      assert.deepEqual(Object.fromEntries(ofAttack), held);
      const rest = items.filter(({ path: name }) => !(name in held));
      const others = rest.filter(({ path: name }) => found.has(name));
      assert.deepEqual(
        others.map(({ path: name }) => name).filter((name) => !/was/.test(name)),
        [],
      );
    });
  }
}
