/** A command that writes five files of 4.5 KB each, as what is measured in a session. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Session } from '../src/client/index.ts';
import type { Contender } from './stats.ts';
import { fileBytes, randomFrom, textOf, type BenchTree } from './workspace-trees.ts';

export const changed = 5;
/** As an agent that thinks in between: what is prepared ahead meanwhile disturbs nobody's run. */
export const pauseMs = 120;

export interface Changer extends Contender {
  /** Runs whose sandbox had not been prepared ahead. */
  cold: number;
}

/** What is in the files is another each time, and of each file. */
const command = 'for f in $FILES; do printf "%s\\n%s\\n" "$f" "$TEXT" > "$f"; done';

/**
 * @param tree the session's workspace: five of its files, others each time, are changed; `null`: it
 *   has none, and five files in its private directory are written
 */
export function changer(name: string, session: Session, tree: BenchTree | null): Changer {
  const random = randomFrom(7);
  let files: string[] = [];
  const own: Changer = {
    name,
    cold: 0,
    ready: async () => {
      files = Array.from({ length: changed }, (_, n) =>
        tree === null ? `b${n}` : tree.path(Math.floor(random() * tree.files)),
      );
      // Whoever changes a file has read it: its old content does not come from the disk.
      if (tree !== null) for (const file of files) readFileSync(path.join(tree.dir, file));
      await sleep(pauseMs);
    },
    run: async () => {
      const env = {
        FILES: files.join(' '),
        TEXT: texts[Math.floor(random() * texts.length)] ?? '',
      };
      const receipt = await session.run(command, { env: { ...env, TEXT: stamped(env.TEXT) } });
      if (!receipt.sandbox.warm) own.cold += 1;
      const told = receipt.changes.filter(({ state }) => state === 'applied').length;
      const wanted = tree === null ? 0 : new Set(files).size;
      if (receipt.exit_code !== 0 || told !== wanted) {
        throw new Error(`${name}: exit ${receipt.exit_code}, ${told} of ${wanted} files applied`);
      }
      if (tree !== null && receipt.snapshot?.method !== 'overlay') throw new Error('no overlay');
    },
  };
  return own;
}

/** The same session with a command that changes nothing. */
export function idler(name: string, session: Session): Contender {
  return {
    name,
    ready: () => sleep(pauseMs),
    run: async () => {
      const { exit_code: code } = await session.run('for f in 1 2 3 4 5; do :; done');
      if (code !== 0) throw new Error(`${name}: exit ${code}`);
    },
  };
}

const seeded = randomFrom(11);
const texts = Array.from({ length: 16 }, () => textOf(fileBytes - 40, seeded));
let count = 0;

function stamped(text: string): string {
  count += 1;
  return `${Date.now()} ${count}\n${text}`;
}
