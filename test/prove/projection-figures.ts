// npm run prove: many denied paths are hidden, each of them; prints what that costs.
// `tools/node test/prove/projection-figures.ts [DENIED] [FILES]`
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { LayerAttributes } from '../../src/workspace/changes/layer-attributes.ts';
import { compileMask } from '../../src/workspace/projection/mask.ts';
import { readVisibility } from '../../src/workspace/projection/visibility.ts';
import { TreeWatch } from '../../src/workspace/projection/tree-watch.ts';

const [denied = 10_000, files = 100_000] = process.argv.slice(2).map(Number);
const yard = realpathSync(mkdtempSync(path.join(tmpdir(), 'trl-figures-')));
const root = path.join(yard, 'ws');
const marks = new LayerAttributes();

function say(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(52)} ${value}\n`);
}

async function timed<T>(what: string, act: () => Promise<T>): Promise<T> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const result = await act();
  const ms = performance.now() - start;
  const used = process.cpuUsage(cpu);
  say(what, `${ms.toFixed(1)} ms, own CPU ${((used.user + used.system) / 1_000).toFixed(1)} ms`);
  return result;
}

function plant(): void {
  for (let at = 0; at < files; at += 1) {
    const directory = path.join(root, `d${at % 100}`, `e${Math.floor(at / 1_000)}`);
    if (at % 1_000 < 100) mkdirSync(directory, { recursive: true });
    const end = at < denied ? 'pem' : 'ts';
    writeFileSync(path.join(directory, `f${at}.${end}`), `${at}\n`);
  }
}

async function masks(): Promise<void> {
  const { uid, gid } = statSync(root);
  const options = {
    root,
    maskDir: path.join(yard, 'mask'),
    visibility: readVisibility({ allow: [], deny: ['**/*.pem', '.env'] }, { root, home: '/none' }),
    owner: { uid, gid },
    marks,
  };
  const mask = await timed(`mask of ${files} files, ${denied} denied`, async () =>
    compileMask(options),
  );
  assert.equal(mask.state.hidden.length, denied);
  await timed('the same, the layer being there', async () => compileMask(options));
  utimesSync(path.join(root, 'd1'), 1, 1);
  await timed('update, nothing hidden changed', async () => mask.update(['', 'd1']));
  const { generation } = mask.state;
  writeFileSync(path.join(root, 'd1/new.pem'), '');
  await timed('update, one more denied path', async () => mask.update(['d1']));
  assert.ok(mask.state.hides('d1/new.pem'));
  assert.notEqual(mask.state.generation, generation);
}

async function watches(): Promise<void> {
  const watch = await timed('watch', async () =>
    TreeWatch.open(root, { cookieDir: path.join(yard, 'cookies') }),
  );
  say('directories watched', String(watch.status().directories));
  const cursor = watch.cursor();
  const times: number[] = [];
  for (let run = 0; run < 200; run += 1) {
    const start = performance.now();
    assert.deepEqual(await cursor.nextChanges(), { changed: false });
    times.push(performance.now() - start);
  }
  say('settled, nothing changed, p50', `${times.toSorted((a, b) => a - b)[100]?.toFixed(3)} ms`);
  watch.close();
}

async function repositories(): Promise<void> {
  const repository = path.join(yard, 'repository');
  for (let at = 0; at < 10_000; at += 1) {
    const directory = path.join(repository, `d${at % 100}`);
    if (at < 100) mkdirSync(directory, { recursive: true });
    writeFileSync(path.join(directory, `f${at}.ts`), `export const n${at} = ${at};\n`.repeat(100));
  }
  writeFileSync(path.join(repository, 'secret.pem'), 'secret\n');
  // Git would tidy up in the background, and into the clearing away.
  const script = `git init -q; git config gc.auto 0; git add .; git $ME commit -qm one`;
  const env = { ...process.env, ME: '-c user.name=a -c user.email=b' };
  execFileSync('sh', ['-ec', script], { cwd: repository, env, stdio: 'ignore' });
  const of = (rule: string) => ({
    root: repository,
    maskDir: path.join(yard, `mask-${rule.replaceAll(/\W/g, '')}`),
    visibility: readVisibility(
      { allow: [], deny: [rule] },
      { root: repository, home: '/nonexistent' },
    ),
    owner: { uid: statSync(repository).uid, gid: statSync(repository).gid },
    marks,
  });
  const kindOf = async (rule: string): Promise<string> =>
    (await compileMask(of(rule))).state.repositories[0]?.kind ?? '';
  const real = await timed('10,000 tracked files, a denied one never tracked', () =>
    kindOf('.env'),
  );
  const first = await timed('10,000 tracked files, one of them denied', () => kindOf('**/*.pem'));
  await timed('the same, kept', () => kindOf('**/*.pem'));
  assert.deepEqual([real, first], ['real', 'projected']);
}

try {
  plant();
  await masks();
  await watches();
  await repositories();
} finally {
  marks[Symbol.dispose]();
  spawnSync('rm', ['-rf', yard]);
}
