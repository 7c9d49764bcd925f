// What the single executable runs first. It stands in for `node [FLAG…] FILE [ARGUMENT…]`: the
// programs that it starts are itself, with a file that lies within it. Flags of Node are set when
// it is built (tools/build-binary.ts), and none can be added from outside.
import { registerHooks } from 'node:module';
import path from 'node:path';
import * as sea from 'node:sea';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

// No such directory is there; what has its name is never read from the disk.
const inside = `${process.execPath}.inside${path.sep}dist${path.sep}`;
const insideUrl = pathToFileURL(inside).href;
const flag = /^--(?:disable-warning|max-semi-space-size)=|^--disable-sigusr1$/;

/** `node FLAG… FILE` becomes `FILE`; anything else is for the command line. */
function takeProgram(): string {
  const given = process.argv.slice(2);
  const at = given.findIndex((word) => !flag.test(word));
  const file = given[at];
  const isInside = file?.startsWith(inside) === true;
  const program = isInside ? file : `${inside}cli.js`;
  process.argv = [process.execPath, program, ...(isInside ? given.slice(at + 1) : given)];
  return program;
}

registerHooks({
  resolve: (specifier, context, next) => {
    const url = specifier.startsWith('.') ? resolved(specifier, context.parentURL) : specifier;
    if (!url.startsWith(insideUrl)) return next(specifier, context);
    return { url, format: 'module', shortCircuit: true };
  },
  load: (url, context, next) => {
    if (!url.startsWith(insideUrl)) return next(url, context);
    const source = Buffer.from(sea.getRawAsset(decodeURI(url.slice(insideUrl.length))));
    return { format: 'module', source, shortCircuit: true };
  },
});

function resolved(specifier: string, parent: string | undefined): string {
  return parent?.startsWith(insideUrl) === true ? new URL(specifier, parent).href : specifier;
}

// The script of an executable has no `import()` of files by itself.
const importModuleDynamically = vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER;
const load: unknown = vm.runInThisContext('(url) => import(url)', { importModuleDynamically });
if (typeof load !== 'function') throw new Error('Cannot start: there is no import()');
Reflect.apply(load, null, [pathToFileURL(takeProgram()).href]);
