/** The version of this program, from the package it was installed with. */
import { readFileSync } from 'node:fs';
import { fieldOf } from '../json-shape.ts';
import { embeddedText } from '../embedded.ts';

let known: string | null = null;

/** `0.1.0`; `unknown` if the package has none. Read once: the version of the running program. */
export function version(): string {
  return (known ??= readVersion());
}

function readVersion(): string {
  const found: unknown = JSON.parse(embeddedText('package.json') ?? readPackage());
  const value = fieldOf(found, 'version');
  return typeof value === 'string' ? value : 'unknown';
}

const readPackage = (): string => readFileSync(new URL(packagePlace(), import.meta.url), 'utf8');

/** `dist/daemon.js` and `src/protocol/version.ts` are at different depths. */
const packagePlace = (): string =>
  import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json';
