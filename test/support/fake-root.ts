/** Another root for whoever looks files up by absolute paths with `node:fs` in this process. */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const calls = [
  'lstatSync',
  'statSync',
  'readFileSync',
  'readdirSync',
  'readlinkSync',
  'accessSync',
];

/** What lies there: a text, a mode with a text, a link (`-> target`), or a directory (`/`). */
export type Tree = Readonly<Record<string, string | readonly [number, string]>>;

export interface FakeRoot extends Disposable {
  readonly add: (tree: Tree) => void;
}

/** Until it is disposed of, those calls see `tree` and nothing else of the machine. */
export function fakeRoot(tree: Tree): FakeRoot {
  const root = mkdtempSync(path.join(tmpdir(), 'trl-root-'));
  const below = (name: unknown): unknown =>
    typeof name === 'string' && name.startsWith('/') && !name.startsWith(root) ? root + name : name;
  const add = (more: Tree): void => {
    for (const [name, what] of Object.entries(more)) {
      const at = path.join(root, name);
      fs.mkdirSync(path.dirname(at), { recursive: true });
      const [mode, text] = typeof what === 'string' ? [0o644, what] : what;
      if (text === '/') fs.mkdirSync(at, { recursive: true });
      else if (text.startsWith('-> ')) fs.symlinkSync(text.slice(3), at);
      else fs.writeFileSync(at, text, { mode });
    }
  };
  add(tree);
  const originals = calls.map((name): [string, unknown] => [name, Reflect.get(fs, name)]);
  const realpath = fs.realpathSync;
  for (const [name, original] of originals) {
    if (typeof original !== 'function') throw new Error(`node:fs has no ${name}`);
    Reflect.set(fs, name, (at: unknown, ...more: unknown[]): unknown =>
      Reflect.apply(original, fs, [below(at), ...more]),
    );
  }
  const real = (at: string): string => {
    const found = realpath.native(String(below(at)));
    return found.startsWith(root) ? found.slice(root.length) || '/' : found;
  };
  Reflect.set(fs, 'realpathSync', Object.assign(real, { native: real }));
  syncBuiltinESMExports();
  return {
    add,
    [Symbol.dispose]: () => {
      for (const [name, original] of originals) Reflect.set(fs, name, original);
      Reflect.set(fs, 'realpathSync', realpath);
      syncBuiltinESMExports();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
