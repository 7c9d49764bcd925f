/**
 * Signs a request for AWS again: a program inside signed it with a placeholder, which made a
 * signature that nobody accepts. Signed is what the program chose, no header more, as AWS reads it
 * ("Create a signed AWS API request", Signature Version 4).
 */
import { createHash, createHmac } from 'node:crypto';
import type { RequestHead } from './http-messages.ts';

interface Signer {
  readonly value: string;
  readonly host: string;
}

export type SignResult =
  | { readonly kind: 'signed'; readonly head: RequestHead }
  | { readonly kind: 'refused'; readonly rule: string };

/** The scope of the key, then the names of what is signed, in lower case. */
const scopePattern = String.raw`Credential=[\w-]+/(\d{8})/([\w-]+)/([\w-]+)/aws4_request`;
const namesPattern = String.raw`SignedHeaders=([\w;-]+), ?Signature=`;
const authorizationPattern = new RegExp(
  `^(AWS4-HMAC-SHA256 ${scopePattern}, ?${namesPattern})[0-9a-f]{64}$`,
);
const contentHash = 'x-amz-content-sha256';

/** Whether the signature needs the body itself. */
export const signsBody = ({ headers }: RequestHead): boolean =>
  !headers.some(({ key }) => key === contentHash);

/** @param body `null`: the request has none, or says its hash */
export function signAgain(
  head: RequestHead,
  body: Buffer | null,
  { value, host }: Signer,
): SignResult {
  const own = head.headers.find(({ key }) => key === 'authorization');
  const found = authorizationPattern.exec(own?.value ?? '');
  const valueOf = (name: string): string | undefined => {
    const values = head.headers.flatMap(({ key, value: one }) => (key === name ? [one] : []));
    if (values.length === 0) return name === 'host' ? host : undefined;
    return values.map((one) => one.trim().replaceAll(/ +/g, ' ')).join(',');
  };
  const time = valueOf('x-amz-date');
  if (own === undefined || found === null || time === undefined) {
    return { kind: 'refused', rule: 'signature of an unknown form' };
  }
  const [, start = '', date = '', region = '', service = '', names = ''] = found;
  const hash = valueOf(contentHash) ?? sha256(body ?? '');
  // Each chunk is signed with the same key, and so would each have to be here.
  if (hash.startsWith('STREAMING-AWS4')) return { kind: 'refused', rule: 'chunks with signatures' };
  const [path = '', query = ''] = head.target.split('?', 2);
  const signed = names.split(';').map((name) => `${name}:${valueOf(name) ?? ''}\n`);
  const canonical = [
    head.method,
    canonicalPath(path, service),
    canonicalQuery(query),
    signed.join(''),
    names,
    hash,
  ].join('\n');
  const scope = [date, region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce(hmac, Buffer.from(`AWS4${value}`));
  const authorization = `${start}${hmac(key, text).toString('hex')}`;
  const headers = head.headers.map((one) => (one === own ? { ...one, value: authorization } : one));
  return { kind: 'signed', head: { ...head, headers } };
}

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** As of RFC 3986, with nothing of a path or query left as it is but what needs no encoding. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (symbol) => `%${symbol.charCodeAt(0).toString(16).toUpperCase()}`,
  );

/** As it was where it encodes nothing. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Encoded once for S3, whose keys may have any form; twice for all others. */
function canonicalPath(path: string, service: string): string {
  if (service === 's3') {
    return path
      .split('/')
      .map((one) => encoded(decoded(one)))
      .join('/');
  }
  const segments: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.' && segment !== '') segments.push(encoded(segment));
  }
  const isDirectory = segments.length > 0 && /\/\.{0,2}$/.test(path);
  return `/${segments.join('/')}${isDirectory ? '/' : ''}`;
}

function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter((pair) => pair !== '');
  const parts = pairs.map((pair) => {
    const [, name = pair, value = ''] = /^([^=]*)=(.*)$/s.exec(pair) ?? [];
    return [name, value].map((one) => encoded(decoded(one.replaceAll('+', ' '))));
  });
  // By name, then by value, each as it is encoded.
  const order = ([name = '', value = '']: readonly string[]): string => `${name}\0${value}`;
  const sorted = parts.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
  return sorted.map((pair) => pair.join('=')).join('&');
}
