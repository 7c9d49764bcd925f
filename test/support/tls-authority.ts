/** An authority of a test, by openssl, and certificates of it for names. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

export interface TlsAuthority {
  /** PEM */
  readonly root: string;
  certify(names: readonly string[]): { readonly key: Buffer; readonly cert: Buffer };
}

/** @param within where openssl may write */
export function openTlsAuthority(within: string): TlsAuthority {
  const directory = mkdtempSync(path.join(within, 'ca-'));
  const at = (name: string): string => path.join(directory, name);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  const openssl = (...args: readonly string[]): void => {
    execFileSync('openssl', args, { stdio: 'ignore', cwd: directory });
  };
  openssl(
    'req',
    '-x509',
    ...key,
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  let made = 0;
  return {
    root: readFileSync(at('ca.pem'), 'utf8'),
    certify: (names) => {
      made += 1;
      const leaf = `leaf${made}`;
      writeFileSync(
        at(`${leaf}.ext`),
        `subjectAltName=${names.map((one) => `DNS:${one}`).join(',')}\n`,
      );
      openssl('req', ...key, '-subj', '/CN=leaf', '-keyout', `${leaf}.key`, '-out', `${leaf}.csr`);
      const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'];
      const to = ['-extfile', `${leaf}.ext`, '-out', `${leaf}.pem`];
      openssl('x509', '-req', '-in', `${leaf}.csr`, ...by, ...to);
      return { key: readFileSync(at(`${leaf}.key`)), cert: readFileSync(at(`${leaf}.pem`)) };
    },
  };
}
