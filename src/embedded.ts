/**
 * Parts of the program where it is one executable: they lie within it. Elsewhere they are files
 * beside the bundles or sources, and everything here answers that there is nothing.
 */

const sea = () => process.getBuiltinModule('node:sea');

export const isSingleExecutable = (): boolean => sea().isSea();

/** Its text, such as `package.json` or `audit-reader.js`; `null` where there is none. */
export function embeddedText(name: string): string | null {
  return embeddedBytes(name)?.toString('utf8') ?? null;
}

export function embeddedBytes(name: string): Buffer | null {
  if (!isSingleExecutable() || !sea().getAssetKeys().includes(name)) return null;
  return Buffer.from(sea().getRawAsset(name));
}

/** Names of all parts that begin with `prefix`, such as `console/`. */
export function embeddedNames(prefix: string): string[] {
  if (!isSingleExecutable()) return [];
  return sea()
    .getAssetKeys()
    .filter((name) => name.startsWith(prefix));
}
