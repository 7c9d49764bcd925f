/**
 * Signs a request for AWS again (Signature Version 4): a program inside signed it with a
 * placeholder, which made a signature that nobody accepts.
 */
import aws4 from 'aws4';
import type { RequestHead } from './http-messages.ts';

interface Signer {
  readonly value: string;
  readonly host: string;
}

export type SignResult =
  | { readonly kind: 'signed'; readonly head: RequestHead; readonly isSigned: boolean }
  | { readonly kind: 'refused'; readonly rule: string };

/** Of the header: the scope of the key, then the names of what is signed, in lower case. */
const scopePattern = String.raw`Credential=([\w-]+)/\d{8}/([\w-]+)/([\w-]+)/aws4_request`;
const authorizationPattern = new RegExp(
  String.raw`^AWS4-HMAC-SHA256 ${scopePattern}, ?SignedHeaders=([\w;-]+), ?Signature=[0-9a-f]{64}$`,
);

/** @param body `null`: the request has none, or says its hash */
export function signAgain(
  head: RequestHead,
  body: Buffer | null,
  { value, host }: Signer,
): SignResult {
  const { method, target, headers } = head;
  const own = headers.find(({ key }) => key === 'authorization');
  const [, id, region, service, names] = authorizationPattern.exec(own?.value ?? '') ?? [];
  if (
    own === undefined ||
    id === undefined ||
    names === undefined ||
    service === undefined ||
    region === undefined
  ) {
    return { kind: 'refused', rule: 'signature of an unknown form' };
  }
  const valueOf = (name: string): string | undefined =>
    headers.find(({ key }) => key === name)?.value;
  // Each chunk is signed with the same key, and so would each have to be here.
  if (valueOf('x-amz-content-sha256')?.startsWith('STREAMING-AWS4') === true) {
    return { kind: 'refused', rule: 'chunks with signatures' };
  }
  const signed = names
    .split(';')
    .flatMap((name) => [[name, valueOf(name)] as const])
    .flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
  const request = aws4.sign(
    {
      service,
      region,
      method,
      path: target,
      host,
      headers: Object.fromEntries(signed),
      ...(body === null ? {} : { body }),
    },
    { accessKeyId: id, secretAccessKey: value },
  );
  const authorization = String(Object(request.headers)['Authorization'] ?? '');
  const changed = headers.map((one) => (one === own ? { ...one, value: authorization } : one));
  return { kind: 'signed', head: { ...head, headers: changed }, isSigned: true };
}
