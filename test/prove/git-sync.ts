// npm run prove: sessions and a person commit, merge, rebase and collect garbage in one repository.
// Every commit whose git said yes is reachable afterwards, the work tree is clean, and git finds
// nothing wrong. TRL_SEED: the first seed; TRL_SEEDS, TRL_COMMITS: how many, and of each writer.
// Every other seed has npm install, cargo build and git gc beside it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { startRuntime } from '../support/daemon.ts';
import { isSound, onHost, race, raceOfPlainGit, repository } from '../support/git-sync.ts';

const [seedsDefault, commitsDefault] = process.env['TRL_PROVE'] === 'full' ? [20, 50] : [2, 8];
const seeds = Number(process.env['TRL_SEEDS'] ?? seedsDefault);
const commits = Number(process.env['TRL_COMMITS'] ?? commitsDefault);
const first = Number(process.env['TRL_SEED'] ?? 1);

const cargo = spawnSync('cargo', ['--version']).status === 0;
/** Makes packages to install and to build, in a directory that git ignores. */
function prepare(dir: string): string {
  onHost(
    dir,
    `mkdir -p build/js build/rs/src build/package; cd build
    echo '{"name":"a","version":"1.0.0"}' >package/package.json
    for n in $(seq 200); do echo "exports.n = $n" >package/$n.js; done
    tar -czf a.tgz package; echo '{"name":"p"}' >js/package.json
    printf '[package]\\nname = "p"\\nversion = "0.1.0"\\n[workspace]\\n' >rs/Cargo.toml
    echo 'fn main() {}' >rs/src/main.rs`,
  );
  // Another gc may be at work.
  const install = 'npm install --offline --no-audit --no-fund --silent ../a.tgz';
  const build = cargo ? '(cd build/rs; touch src/main.rs; cargo build -q --offline)' : 'true';
  return `(cd build/js; rm -rf node_modules; ${install}) && ${build} && { git gc -q || true; }`;
}

const daemon = await startRuntime();
try {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const dir = path.join(daemon.root, `seed-${seed}`);
    mkdirSync(dir);
    repository(dir);
    const { socketPath } = daemon;
    const plain = { dir, socketPath, sessions: 4, commits, seed, isWild: true };
    const raced = await race(seed % 2 === 0 ? { ...plain, beside: prepare(dir) } : plain);
    const { yes, no, lost, aside, conflicts, beside } = raced;
    const lines = onHost(dir, 'git status --porcelain').split('\n');
    // What git said no to may stand there; and of what a merge brings while others commit, plain
    // git leaves some out of the index.
    const isOfGit = (line: string): boolean =>
      line.endsWith('-side') || no.some((one) => line.endsWith(`file-${one}`));
    const status = lines.filter((line) => !isOfGit(line)).join('\n');
    const stale = lines.filter((line) => line.startsWith('D ')).length;
    const counts = { yes: yes.length, aside: aside.length, conflicts, stale, beside: beside.runs };
    const told = { seed, ...counts, no, lost, status, failed: beside.failed };
    process.stdout.write(`${JSON.stringify(told)}\n`);
    isSound(dir);
    assert.deepEqual([lost, status, beside.failed], [[], '', []]);
  }
  // The same writers on one work tree, without a runtime.
  const dir = path.join(daemon.root, 'plain');
  mkdirSync(dir);
  repository(dir);
  const { yes, lost } = await raceOfPlainGit({ dir, writers: 5, commits, seed: first });
  const stale = onHost(dir, 'git status --porcelain').match(/^D /gm)?.length ?? 0;
  process.stdout.write(`plain git: ${yes.length} said yes, ${lost.length} lost, ${stale} stale\n`);
} finally {
  await daemon.stop();
}
process.stdout.write('every commit whose git said yes is reachable\n');
