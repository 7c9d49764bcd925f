/** Certificates by which hosts are trusted beside those of the host's own list. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { TrlError } from '../errors.ts';

export const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
/** Variables by which a company's machine names them for other programs. */
const rootVariables = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE'];

export interface RootCertificatesInput {
  /** Absolute paths of PEM files that a person named. */
  readonly files: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The host's own list, whose certificates are left out; `null`: there is none. */
  readonly bundle: string | null;
}

/**
 * PEM, each once. A file that a variable names and that cannot be read is left out, as by the
 * programs that it is for.
 *
 * @throws TrlError `INVALID_PARAMS` for a named file that cannot be read, or has no certificate
 */
export function rootCertificates({ files, env, bundle }: RootCertificatesInput): readonly string[] {
  const own = new Set(bundle === null ? [] : (certificatesIn(bundle) ?? []).map(bare));
  const named = files.flatMap((file) => {
    const found = certificatesIn(file);
    if (found !== null && found.length > 0) return found;
    const why = found === null ? 'it cannot be read' : 'it has no certificate';
    throw new TrlError('INVALID_PARAMS', `Cannot use network.roots: "${file}": ${why}`);
  });
  const ofVariables = rootVariables.flatMap((name) => {
    const file = env[name];
    return file === undefined || file === bundle ? [] : (certificatesIn(file) ?? []);
  });
  const all = new Map([...named, ...ofVariables].map((pem) => [bare(pem), pem]));
  return [...all].flatMap(([key, pem]) => (own.has(key) || !isCertificate(pem) ? [] : [pem]));
}

/** `null`: the file cannot be read. */
function certificatesIn(file: string): readonly string[] | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return null;
  }
  return text.match(certificatePattern) ?? [];
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

const bare = (pem: string): string => pem.replaceAll(/\s/g, '');
