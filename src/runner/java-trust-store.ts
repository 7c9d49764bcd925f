/** A trust store of Java in the format JKS, which every version reads. */
import { createHash } from 'node:crypto';

const magic = 0xfe_ed_fe_ed;
const version = 2;
const trustedCertificate = 2;
/** The password that `keytool` takes for granted; the store's digest is made with it. */
const password = 'changeit';
/** A part of the digest, by the format. */
const whitener = 'Mighty Aphrodite';

function number(value: number, bytes: 2 | 4): Buffer {
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([number(bytes.length, 2), bytes]);
}

/** @param certificates DER */
export function javaTrustStore(certificates: readonly Buffer[]): Buffer {
  const entries = certificates.flatMap((der, at) => [
    number(trustedCertificate, 4),
    text(`trl-${at}`),
    // When it was added: as long ago as can be.
    Buffer.alloc(8),
    text('X.509'),
    number(der.length, 4),
    der,
  ]);
  const head = [number(magic, 4), number(version, 4), number(certificates.length, 4)];
  const body = Buffer.concat([...head, ...entries]);
  const secret = Buffer.from(password, 'utf16le').swap16();
  const digest = createHash('sha1').update(secret).update(whitener).update(body).digest();
  return Buffer.concat([body, digest]);
}
