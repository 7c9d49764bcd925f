/**
 * What of the host's system every sandbox sees: programs and libraries read-only, and of `/etc` a
 * list by name. Anything not listed here is absent inside.
 */
import { lstatSync, readFileSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';

/** One thing of the host's system that is shown at its own path. */
export type SystemEntry =
  | { readonly kind: 'bind'; readonly path: string }
  | { readonly kind: 'link'; readonly path: string; readonly target: string }
  /** A small public file, copied: it costs no mount. */
  | { readonly kind: 'copy'; readonly path: string; readonly base64: string };

/** `/bin` and its like are links on most systems and stay links. */
const roots = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
const stores = ['/opt', '/nix/store', '/gnu/store'];
/** How many processors there are: runtimes size their thread pools by it. */
const hardware = ['/sys/devices/system/cpu'];

/** Copied when regular and small; recreated when links. */
const etcFiles = [
  'bash.bashrc',
  'bashrc',
  'debian_version',
  'host.conf',
  'gai.conf',
  'inputrc',
  'locale.alias',
  'locale.conf',
  'localtime',
  'os-release',
  'protocols',
  'services',
  'shells',
  'ssl/openssl.cnf',
  'ssl/cert.pem',
  'timezone',
];
/** Bound: directories of public configuration, and the loader's cache. */
const etcTrees = [
  'ld.so.cache',
  'alternatives',
  'ssl/certs',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
  'pki/java',
  'crypto-policies',
  'static',
  'fonts',
  'terminfo',
  'php',
  'R',
  'texmf',
  'maven',
  'ImageMagick-6',
  'ImageMagick-7',
];
const etcFamilies = /^(?:java-\d+-|python\d|perl$|ruby)/;
const copyBytesMax = 64 * 1024;

/** The entries that exist here. Reads small files only; never throws. */
export function systemEntries(): SystemEntry[] {
  const top = [...roots, ...stores, ...hardware].flatMap((name) => entry(name, 'bind'));
  const families = names('/etc').filter((name) => etcFamilies.test(name));
  const trees = [...etcTrees, ...families].flatMap((name) => entry(`/etc/${name}`, 'bind'));
  const files = etcFiles.flatMap((name) => entry(`/etc/${name}`, 'copy'));
  return [...top, ...trees, ...files];
}

/** The host's resolver configuration, for sandboxes on the host's network. */
export function resolverText(): string {
  return readText('/etc/resolv.conf') ?? '';
}

function entry(name: string, how: 'bind' | 'copy'): SystemEntry[] {
  const stat = lstatSync(name, { throwIfNoEntry: false });
  if (stat?.isSymbolicLink()) return [{ kind: 'link', path: name, target: readlinkSync(name) }];
  if (stat === undefined || !(stat.isDirectory() || stat.isFile())) return [];
  if (how === 'bind') return [{ kind: 'bind', path: name }];
  const text = stat.isFile() && isPublic(stat.mode) ? readBytes(name) : null;
  return text === null ? [] : [{ kind: 'copy', path: name, base64: text.toString('base64') }];
}

/** A copy must not show what the file's own mode hides. */
function isPublic(mode: number): boolean {
  return (mode & 0o004) !== 0;
}

function readBytes(name: string): Buffer | null {
  try {
    return statSync(name).size <= copyBytesMax ? readFileSync(name) : null;
  } catch {
    return null;
  }
}

function readText(name: string): string | null {
  return readBytes(path.normalize(name))?.toString('utf8') ?? null;
}

function names(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
