// npm run prove: sessions and a person commit, merge, rebase and collect garbage in one repository.
// Every commit whose git said yes is reachable afterwards, the work tree is clean, and git finds
// nothing wrong. TRL_SEED: the first seed; TRL_SEEDS, TRL_COMMITS: how many, and of each writer.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startRuntime } from '../support/daemon.ts';
import { isSound, onHost, race, raceOfPlainGit, repository } from '../support/git-sync.ts';

const [seedsDefault, commitsDefault] = process.env['TRL_PROVE'] === 'full' ? [20, 50] : [2, 8];
const seeds = Number(process.env['TRL_SEEDS'] ?? seedsDefault);
const commits = Number(process.env['TRL_COMMITS'] ?? commitsDefault);
const first = Number(process.env['TRL_SEED'] ?? 1);

const daemon = await startRuntime();
try {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const dir = path.join(daemon.root, `seed-${seed}`);
    mkdirSync(dir);
    repository(dir);
    const { socketPath } = daemon;
    const raced = await race({ dir, socketPath, sessions: 4, commits, seed, isWild: true });
    const { yes, no, lost, aside, conflicts } = raced;
    // What git said no to may stand there.
    const status = onHost(dir, 'git status --porcelain')
      .split('\n')
      .filter((line) => !no.some((one) => line.endsWith(`file-${one}`)))
      .join('\n');
    const told = { seed, yes: yes.length, no, lost, aside: aside.length, conflicts, status };
    process.stdout.write(`${JSON.stringify(told)}\n`);
    isSound(dir);
    assert.deepEqual({ lost, status }, { lost: [], status: '' });
  }
  // The same writers on one work tree, without a runtime.
  const dir = path.join(daemon.root, 'plain');
  mkdirSync(dir);
  repository(dir);
  const { yes, lost } = await raceOfPlainGit({ dir, writers: 5, commits, seed: first });
  process.stdout.write(`plain git: ${yes.length} said yes, ${lost.length} lost\n`);
} finally {
  await daemon.stop();
}
process.stdout.write('every commit whose git said yes is reachable\n');
