/**
 * The certificate authority of one session, and certificates that it signs: X.509 (RFC 5280) in
 * DER, for keys on the curve P-256. The authority is known to this session's commands alone.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto';

/** As PEM, both of them. */
export interface CertificateAndKey {
  readonly certificate: string;
  readonly key: string;
}

const dayMs = 86_400_000;
/** As long as a session may last. */
const authorityDays = 400;
export const leafDays = 7;
/** Clocks inside and outside are the same; programs that compare with a time of their own exist. */
const earlierDays = 1;

const tags = { integer: 2, bits: 3, octets: 4, oid: 6, utf8: 12, time: 23, list: 48, set: 49 };

function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const digits = length.toString(16);
  const bytes = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
  const head = length < 128 ? [tag, length] : [tag, 0x80 | bytes.length, ...bytes];
  return Buffer.concat([Buffer.from(head), body]);
}

const list = (...parts: readonly Uint8Array[]): Buffer => der(tags.list, ...parts);
const octets = (...parts: readonly Uint8Array[]): Buffer => der(tags.octets, ...parts);
const bits = (unused: number, bytes: Uint8Array): Buffer =>
  der(tags.bits, Buffer.from([unused]), bytes);
const yes = Buffer.from([1, 1, 0xff]);

/** Of numbers below 2^14 behind the first two, which is what is used here. */
function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = rest.flatMap((part): number[] => {
    const seven: number[] = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) seven.unshift((left & 0x7f) | 0x80);
    return seven;
  });
  return der(tags.oid, Buffer.from([first * 40 + second, ...bytes]));
}

const ecdsaWithSha256 = list(oid('1.2.840.10045.4.3.2'));
const commonName = (text: string): Buffer =>
  list(der(tags.set, list(oid('2.5.4.3'), der(tags.utf8, Buffer.from(text)))));
const extension = (id: string, isCritical: boolean, value: Uint8Array): Buffer =>
  list(oid(id), ...(isCritical ? [yes] : []), octets(value));

const subjectAlternative = '2.5.29.17';
const basicConstraints = '2.5.29.19';
const keyUsage = '2.5.29.15';
const extendedUsage = '2.5.29.37';
const subjectKey = '2.5.29.14';
const authorityKey = '2.5.29.35';
const serverAuthentication = oid('1.3.6.1.5.5.7.3.1');
const usages = {
  signsCertificates: bits(1, Buffer.from([0x06])),
  signs: bits(7, Buffer.from([0x80])),
};

interface Certified {
  readonly issuer: string;
  readonly subject: string;
  readonly days: number;
  readonly publicKey: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly by: KeyObject;
}

function certify({ issuer, subject, days, publicKey, extensions, by }: Certified): string {
  const serial = randomBytes(16);
  // Positive, and not 0.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const body = list(
    der(0xa0, der(tags.integer, Buffer.from([2]))),
    der(tags.integer, serial),
    ecdsaWithSha256,
    commonName(issuer),
    list(time(-earlierDays), time(days)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, list(...extensions)),
  );
  const whole = list(body, ecdsaWithSha256, bits(0, sign('sha256', body, by)));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function time(days: number): Buffer {
  const at = new Date(Date.now() + days * dayMs).toISOString();
  // UTCTime, which counts until 2049.
  return der(tags.time, Buffer.from(`${at.replaceAll(/\D/g, '').slice(2, 14)}Z`));
}

/** RFC 5280, 4.2.1.2: of the public key alone. */
const keyId = (key: KeyObject): Buffer => {
  const whole = key.export({ type: 'spki', format: 'der' });
  return createHash('sha1').update(whole).digest();
};

const authorityName = 'TRL session authority';
const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

export function makeAuthority(): CertificateAndKey {
  const key = newKey();
  const publicKey = createPublicKey(key);
  // No name of its own: two sessions' authorities must not be taken for each other.
  const name = `${authorityName} ${randomBytes(6).toString('hex')}`;
  const certificate = certify({
    issuer: name,
    subject: name,
    days: authorityDays,
    publicKey,
    extensions: [
      extension(basicConstraints, true, list(yes, der(tags.integer, Buffer.from([0])))),
      extension(keyUsage, true, usages.signsCertificates),
      extension(subjectKey, false, octets(keyId(publicKey))),
    ],
    by: key,
  });
  return { certificate, key: pemOf(key) };
}

/** Signs certificates for names. */
export class Authority {
  readonly #by: KeyObject;
  readonly #issuer: string;
  readonly #keyId: Buffer;
  /** One for all names: nobody else has it. */
  readonly #leafKey = newKey();

  constructor({ certificate, key }: CertificateAndKey) {
    this.#by = createPrivateKey(key);
    this.#issuer = issuerOf(certificate);
    this.#keyId = keyId(createPublicKey(this.#by));
  }

  certify(name: string): CertificateAndKey {
    const publicKey = createPublicKey(this.#leafKey);
    const dnsName = der(0x82, Buffer.from(name, 'latin1'));
    const certificate = certify({
      issuer: this.#issuer,
      // Names may be longer than this field.
      subject: name.slice(0, 64),
      days: leafDays,
      publicKey,
      extensions: [
        extension(subjectAlternative, false, list(dnsName)),
        extension(basicConstraints, true, list()),
        extension(keyUsage, true, usages.signs),
        extension(extendedUsage, false, list(serverAuthentication)),
        extension(subjectKey, false, octets(keyId(publicKey))),
        extension(authorityKey, false, list(der(0x80, this.#keyId))),
      ],
      by: this.#by,
    });
    return { certificate, key: pemOf(this.#leafKey) };
  }
}

function issuerOf(certificate: string): string {
  const [, name] = /CN=(.+)/.exec(new X509Certificate(certificate).subject) ?? [];
  if (name === undefined) throw new TypeError('no authority of ours');
  return name;
}
