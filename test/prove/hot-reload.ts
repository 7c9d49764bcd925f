// npm run prove: dev servers from npm hear in a sandbox what is saved on the host: in place, by
// rename, and again. Skipped where npm has no registry.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { startRuntime } from '../support/daemon.ts';
import { eventually } from '../support/processes.ts';
import { openSession } from '../support/session.ts';

await using runtime = await startRuntime();
const root = runtime.root;
const packages = ['vite@8', 'nodemon@3', 'chokidar@5', 'typescript@5'];
const npm = ['install', '--no-audit', '--no-fund', '--silent', '--prefix', root, ...packages];
const installed = spawnSync('npm', npm, { encoding: 'utf8', timeout: 180_000 });

const chokidar = `import { watch } from 'chokidar';
import { appendFileSync, readFileSync } from 'node:fs';
watch('src').on('all', (event, file) => {
  if (file === 'src/a.ts') appendFileSync('seen', readFileSync(file, 'utf8'));
});`;
const vite = `import { appendFileSync } from 'node:fs';
export default { server: { port: 0 }, plugins: [{ name: 'tell', async handleHotUpdate({ read }) {
  appendFileSync('seen', await read());
} }] };`;
const write = (name: string, text: string): void => writeFileSync(path.join(root, name), text);

const servers = {
  chokidar: 'node chokidar.mjs',
  nodemon: `node_modules/.bin/nodemon -q -w src -e ts -x 'cat src/a.ts >> seen'`,
  vite: 'node_modules/.bin/vite --config vite.mjs',
  tsc: `node_modules/.bin/tsc --watch --preserveWatchOutput --outDir out src/a.ts & 
    while sleep 0.1; do cmp -s out/a.js last || { cp out/a.js last; cat last >> seen; }; done`,
};

if (installed.status !== 0) {
  console.log(`skipped: npm brings no packages here: ${installed.stderr.slice(0, 200)}`);
} else {
  mkdirSync(path.join(root, 'src'));
  write('chokidar.mjs', chokidar);
  write('vite.mjs', vite);
  write('index.html', '<script type="module" src="/src/a.ts"></script>');
  for (const [name, command] of Object.entries(servers)) {
    write('src/a.ts', 'console.log("first");\n');
    write('seen', '');
    await using session = await openSession(runtime.socketPath, { working_dir: root });
    await session.start(command);
    const seen = (): string => readFileSync(path.join(root, 'seen'), 'utf8');
    if (name === 'vite') await new Promise((resolve) => setTimeout(resolve, 4_000));
    else await eventually(`${name} to start`, () => seen().includes('first'), 30_000);
    for (const [at, how] of ['place', 'place', 'rename', 'place', 'rename', 'rename'].entries()) {
      const text = `console.log("${name} ${at}");\n`;
      const began = performance.now();
      if (how === 'rename') {
        write('.saving', text);
        renameSync(path.join(root, '.saving'), path.join(root, 'src/a.ts'));
      } else write('src/a.ts', text);
      await eventually(`${name}: ${how} ${at}`, () => seen().includes(text.trim()), 20_000);
      console.log(`${name} ${how}: ${Math.round(performance.now() - began)} ms`);
    }
  }
  assert.ok(existsSync(path.join(root, 'src/a.ts')));
}
