// Pictures of the console, taken in Chromium from a real runtime: those of the documents in
// docs/images, or of every view in both themes for review.
//   tools/node tools/console-pictures.ts [DIRECTORY]
import path from 'node:path';
import { connectLocal } from '../src/local/index.ts';
import { Browser, consoleLink } from '../test/support/browser.ts';
import type { Watched } from '../test/support/browser.ts';
import { playScene } from '../test/support/console-scene.ts';
import { startRuntime } from '../test/support/daemon.ts';

const root = path.dirname(import.meta.dirname);
const forReview = process.argv[2];
const directory = forReview ?? path.join(root, 'docs/images');
/** What the documents show. */
const shown = new Set([
  'approvals-light',
  'approvals-dark',
  'overview-dark',
  'command-light',
  'changes-light',
  'provenance-dark',
]);

await using daemon = await startRuntime({ env: { TRL_POLICY: 'guarded' } });
await using agent = await connectLocal({ socketPath: daemon.socketPath });
await using browser = await Browser.start({ width: 1360, height: 860 });
const scene = await playScene(agent, daemon);
const views = [
  ['overview', 'overview'],
  ['approvals', `approvals/${scene.asked}`],
  ['command', `command/${scene.changed}`],
  ['terminal', `command/${scene.terminal}`],
  ['secrets', 'secrets'],
  ['changes', `changes/${scene.session.id}`],
  ['audit', 'audit'],
  ['provenance', `audit/${scene.changed}`],
  ['policy', 'policy'],
  ['metrics', 'metrics'],
] as const;

const person = await browser.page();
await person.page.goto(await consoleLink(daemon));
await person.sees('Live');
for (const scheme of ['light', 'dark'] as const) {
  await person.page.emulateMedia({ colorScheme: scheme });
  for (const [name, address] of views) {
    if (forReview === undefined && !shown.has(`${name}-${scheme}`)) continue;
    await take(person, address);
    await person.page.screenshot({ path: path.join(directory, `console-${name}-${scheme}.png`) });
  }
}
for (const wrong of person.wrong) console.error(wrong);

async function take({ page }: Watched, address: string): Promise<void> {
  await page.evaluate(`location.hash = '#/${address}'`);
  if (address === 'policy') {
    await page.locator('textarea').fill('make clean && git push --force origin main');
  }
  // What is asked of the runtime is there, and fonts and colours have settled.
  await page.waitForTimeout(address === 'metrics' ? 4_500 : 900);
}
