/** The version of this program, from the package it was installed with. */
import { readFileSync } from 'node:fs';

/** `0.1.0` */
export function version(): string {
  const file = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json';
  const found: { readonly version: string } = JSON.parse(
    readFileSync(new URL(file, import.meta.url), 'utf8'),
  );
  return found.version;
}
