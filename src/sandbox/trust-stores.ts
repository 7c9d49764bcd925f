/** Files of the host that list the certificates that its programs trust. */
import { globSync, statSync } from 'node:fs';
import { isInsideAnyTree, toolchainRealPath } from './toolchains.ts';

/** Real paths of regular files. */
export interface TrustStores {
  /** PEM, the first of them the one that most programs read. */
  readonly bundles: readonly string[];
  /** Of Java. */
  readonly java: readonly string[];
}

/** As Debian, Fedora, openSUSE and Alpine have them. */
const bundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
];
const javaStores = ['/etc/ssl/certs/java/cacerts', '/etc/pki/java/cacerts'];
/** Of JDKs, and of the runtimes in them. */
const inJava = ['lib/security/cacerts', 'jre/lib/security/cacerts'];

/** @param shown trees that sandboxes see: nothing else is there to be replaced */
export function findTrustStores(shown: readonly string[]): TrustStores {
  const trees = [...globSync('/usr/lib/jvm/*'), ...globSync('/opt/*'), ...shown];
  const java = trees.flatMap((tree) => inJava.map((file) => `${tree}/${file}`));
  return { bundles: filesIn(bundles, shown), java: filesIn([...javaStores, ...java], shown) };
}

function filesIn(names: readonly string[], shown: readonly string[]): readonly string[] {
  const real = names.flatMap((name) => toolchainRealPath(name) ?? []);
  const files = real.filter(
    (name) => isInsideAnyTree(name, shown) && statSync(name, { throwIfNoEntry: false })?.isFile(),
  );
  return [...new Set(files)];
}
