/** Programs with placeholders, to servers that take nothing but the values. */
import { createHash, createHmac } from 'node:crypto';
import type { BrokeredCredential } from '../../src/network-access.ts';
import { brokerRuleOf, makePlaceholder } from '../../src/secrets/broker.ts';
import { awsHost, credentialHost, type CredentialProgram } from './credential-programs.ts';
import { programAnswer } from './program-archives.ts';
import type { ServerAnswer, ServerRequest } from './program-servers.ts';
import { openProgramBox, type ProgramResult } from './program-ways.ts';

const values = {
  token: 'ghp_r3alTokenOfTheTest0123456789abcdefXY',
  aws: 'aK3y/OfTheTest+0123456789abcdefghijklmnop',
} as const;

function credentialOf(name: string, value: string, hosts: readonly string[]): BrokeredCredential {
  const rule = brokerRuleOf(name, { hosts });
  if (rule === null) throw new TypeError(name);
  return { ...rule, name, value, placeholder: makePlaceholder(Buffer.alloc(32), name, value) };
}

export interface CredentialBox extends AsyncDisposable {
  run(program: CredentialProgram): Promise<ProgramResult>;
}

export async function openCredentialBox(tools?: string): Promise<CredentialBox> {
  const credentials = {
    token: credentialOf('GITHUB_TOKEN', values.token, [credentialHost]),
    aws: credentialOf('AWS_SECRET_ACCESS_KEY', values.aws, [awsHost, `*.${awsHost}`]),
  };
  const box = await openProgramBox({
    ...(tools === undefined ? {} : { tools }),
    names: [credentialHost, awsHost, `bucket.${awsHost}`],
    credentials: Object.values(credentials),
    answer: (request) => (request.host.endsWith(awsHost) ? ofAws(request) : ofToken(request)),
  });
  return {
    run: async ({ needs, credential: kind = 'token', script }) => {
      const { value, placeholder } = credentials[kind];
      const before = box.requests.length;
      const got = await box.runScript(needs, `export TOKEN='${placeholder}'\n${script}`);
      if (got === null) return { kind: 'skipped', why: `${needs} is not there` };
      const text = `exit ${got.code}: ${got.stderr.slice(-2000)}${got.stdout.slice(-1000)}`;
      const sent = JSON.stringify(box.requests.slice(before));
      const shows = `${got.stdout}${got.stderr}`.includes(value);
      if (shows) return { kind: 'failed', why: 'it shows the value' };
      if (sent.includes(placeholder)) return { kind: 'failed', why: `placeholder: ${text}` };
      const isThere = got.code === 0 && got.stdout.includes(programAnswer);
      return isThere ? { kind: 'ok' } : { kind: 'failed', why: text };
    },
    [Symbol.asyncDispose]: async () => await box[Symbol.asyncDispose](),
  };
}

/** The forms in which a token is sent. `null`: it has it, and gets the file. */
function ofToken({ method, host, target, headers }: ServerRequest): ServerAnswer | null {
  if (host !== credentialHost) return null;
  const { authorization = '', 'x-api-key': key = '' } = headers;
  const [, scheme = '', rest = authorization] = /^(\w+) (.*)$/.exec(authorization) ?? [];
  const basic = Buffer.from(rest, 'base64').toString('utf8').split(':').slice(1).join(':');
  const token = scheme.toLowerCase() === 'basic' ? basic : rest;
  if (token !== values.token && key !== values.token) {
    const challenge = target.includes('/cargo/')
      ? 'Cargo login_url="https://x.test/"'
      : 'Basic realm="t"';
    return { status: 401, headers: { 'www-authenticate': challenge }, body: 'who are you?\n' };
  }
  if (method === 'PUT') return { status: 201, body: '{}' };
  // It says what it got, as a debugging page would.
  const says = `${programAnswer} for ${authorization || key}\n`;
  if (/\/text\b/.test(target)) return { status: 200, body: says };
  if (!target.endsWith('/cargo/config.json')) return null;
  const base = `https://${host}/open`;
  return {
    status: 200,
    body: JSON.stringify({ dl: `${base}/crates`, api: base, 'auth-required': true }),
  };
}

/** `null`: no host of AWS. */
function ofAws(request: ServerRequest): ServerAnswer {
  const why = whyUnsigned(request);
  if (why !== null) return { status: 403, body: `<Error><Code>${why}</Code></Error>` };
  const { method, headers, body } = request;
  if (body.toString('latin1').includes('Action=GetCallerIdentity')) {
    const result = `<GetCallerIdentityResult><Account>${programAnswer}</Account>`;
    const text = `${result}</GetCallerIdentityResult>`;
    return {
      status: 200,
      headers: { 'content-type': 'text/xml' },
      body: `<GetCallerIdentityResponse>${text}</GetCallerIdentityResponse>`,
    };
  }
  if (headers['x-amz-target'] !== undefined) {
    return { status: 200, headers: { 'content-type': 'application/x-amz-json-1.0' }, body: '{}' };
  }
  const isList = request.target.includes('list-type');
  const text = isList ? '<ListBucketResult></ListBucketResult>' : programAnswer;
  return { status: 200, headers: { etag: '"1"' }, body: method === 'GET' ? text : '' };
}

const sha256 = (bytes: Buffer | string): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: Buffer | string, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/** By the documents of AWS, without the library that signs; `null`: the signature is right. */
function whyUnsigned({ method, target, headers, host, body }: ServerRequest): string | null {
  const scopePattern = String.raw`Credential=AKIDOFTHETEST/(\d+)/([\w-]+)/(\w+)/aws4_request`;
  const signedPattern = String.raw`SignedHeaders=([\w;-]+), Signature=(\w+)`;
  const pattern = new RegExp(`^AWS4-HMAC-SHA256 ${scopePattern}, ${signedPattern}$`);
  const found = pattern.exec(headers['authorization'] ?? '');
  const [, date = '', region = '', service = '', names = '', signature] = found ?? [];
  if (found === null) return 'NoSignature';
  const stated = headers['x-amz-content-sha256'];
  const isHash = stated === undefined || /^[0-9a-f]{64}$/.test(stated);
  if (isHash && stated !== undefined && stated !== sha256(body)) return 'BadDigest';
  const [path = '', query = ''] = target.split('?');
  const signed = names.split(';').map((name) => {
    const value = name === 'host' ? host : (headers[name] ?? '');
    return `${name}:${value.trim().replaceAll(/ +/g, ' ')}\n`;
  });
  const pairs = query.split('&').filter((one) => one !== '');
  const sorted = pairs.map((one) => (one.includes('=') ? one : `${one}=`)).toSorted();
  const hash = stated ?? sha256(body);
  const canonical = [method, path, sorted.join('&'), signed.join(''), names, hash].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce(
    (before: Buffer | string, part) => hmac(before, part),
    `AWS4${values.aws}`,
  );
  return hmac(key, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch';
}
