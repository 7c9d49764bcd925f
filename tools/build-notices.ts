// THIRD_PARTY_NOTICES.txt: the licence of each package of which something is in the bundles.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** In the console, which is built apart. */
const ofConsole = [
  'preact',
  '@preact/signals',
  '@preact/signals-core',
  '@xterm/xterm',
  '@xterm/addon-fit',
];

/**
 * @param inputs files that were bundled, relative to the checkout
 * @throws Error for a package without a licence: then it may not be published
 */
export function writeNotices(inputs: ReadonlySet<string>, file: string): void {
  const names = new Set(ofConsole);
  for (const input of inputs) {
    const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (name !== undefined) names.add(name);
  }
  const parts = [...names].toSorted().map(noticeOf);
  const head = 'What the Terminal Runtime Layer contains of others, with their licences.\n';
  writeFileSync(file, [head, ...parts].join(`\n${'-'.repeat(78)}\n\n`));
}

function noticeOf(name: string): string {
  const directory = path.join('node_modules', name);
  const found: unknown = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8'));
  const field = (key: string): string => {
    const value: unknown =
      typeof found === 'object' && found !== null ? Reflect.get(found, key) : null;
    return typeof value === 'string' ? value : '';
  };
  const [text] = globSync('{LICENSE,LICENCE,License,license,COPYING}*', { cwd: directory });
  const licence = field('license');
  if (licence === '') throw new Error(`Cannot name the licence of ${name}: it has none`);
  const body =
    text === undefined
      ? `(no text in the package)\n`
      : readFileSync(path.join(directory, text), 'utf8');
  return `${name} ${field('version')} (${licence})\n\n${body.trim()}\n`;
}
