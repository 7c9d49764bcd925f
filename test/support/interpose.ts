/**
 * Somebody else acts exactly between two system calls of the code under test: calls of `node:fs`
 * that open or change something by its name are counted, and before one of them `act` is called.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const calls = [
  'openSync chmodSync lchownSync chownSync utimesSync lutimesSync mkdirSync rmdirSync unlinkSync',
  'renameSync linkSync symlinkSync readlinkSync copyFileSync writeFileSync readFileSync',
  'accessSync readdirSync mkdtempSync',
].flatMap((line) => line.split(' '));

export interface Interposed extends Disposable {
  /** Calls until now. */
  readonly count: number;
}

/**
 * @param act before call number `at`, the first is 0; what it calls itself is not counted
 * @param skips calls whose first argument matches are not counted
 */
export function interpose(at: number, act: () => void, skips: RegExp): Interposed {
  let count = 0;
  let isOff = false;
  const originals = calls.map((name): [string, unknown] => [name, Reflect.get(fs, name)]);
  for (const [name, original] of originals) {
    if (typeof original !== 'function') throw new Error(`node:fs has no ${name}`);
    Reflect.set(fs, name, (...args: unknown[]): unknown => {
      if (!isOff && !skips.test(String(args[0]))) {
        if (count === at) {
          isOff = true;
          act();
          isOff = false;
        }
        count += 1;
      }
      return Reflect.apply(original, fs, args);
    });
  }
  syncBuiltinESMExports();
  return {
    get count() {
      return count;
    },
    [Symbol.dispose]: () => {
      for (const [name, original] of originals) Reflect.set(fs, name, original);
      syncBuiltinESMExports();
    },
  };
}
