// Requests for AWS that are signed again, against the examples that AWS publishes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headersOf } from '../src/egress/http-messages.ts';
import { signAgain, type SignResult } from '../src/egress/sign-aws.ts';

interface Example {
  readonly first: string;
  readonly headers: readonly string[];
  readonly scope: string;
  readonly names: string;
  readonly body?: string;
  readonly value: string;
  readonly id: string;
}

function sign({ first, headers, scope, names, body, value, id }: Example): SignResult {
  const [method = '', target = ''] = first.split(' ');
  const stale = `Credential=${id}/${scope}/aws4_request,SignedHeaders=${names}`;
  const authorization = `AWS4-HMAC-SHA256 ${stale},Signature=${'0'.repeat(64)}`;
  const lines = [...headers, `Authorization: ${authorization}`];
  const raw = lines.flatMap((line) => /^([^:]+): (.*)$/.exec(line)?.slice(1) ?? []);
  const head = { method, target, headers: headersOf(raw) };
  return signAgain(head, body === undefined ? null : Buffer.from(body), { value, host: 'x.test' });
}

function signatureOf(example: Example): string {
  const result = sign(example);
  if (result.kind === 'refused') return result.rule;
  const own = result.head.headers.find(({ key }) => key === 'authorization')?.value ?? '';
  return own.split('Signature=')[1] ?? '';
}

// "Examples of the complete Version 4 signing process" of S3.
const s3 = (first: string, more: readonly string[] = [], hash = empty): Example => ({
  first,
  headers: [
    'Host: examplebucket.s3.amazonaws.com',
    `x-amz-content-sha256: ${hash}`,
    'x-amz-date: 20130524T000000Z',
    // Behind the signature, as a program may add them.
    'Expect: 100-continue',
    'Content-Length: 0',
    ...more,
  ],
  scope: '20130524/us-east-1/s3',
  names: ['host', 'x-amz-content-sha256', 'x-amz-date', ...more.map(nameOf)].toSorted().join(';'),
  value: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  id: 'AKIAIOSFODNN7EXAMPLE',
});
const nameOf = (line: string): string => line.split(':')[0]?.toLowerCase() ?? '';
const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

test('requests for S3 get the signatures of the examples of AWS', () => {
  assert.equal(
    signatureOf(s3('GET /test.txt', ['Range: bytes=0-9'])),
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  );
  const put = s3(
    'PUT /test$file.text',
    ['Date: Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class: REDUCED_REDUNDANCY'],
    '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
  );
  const signature = '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd';
  assert.equal(signatureOf(put), signature);
  assert.equal(signatureOf({ ...put, first: 'PUT /test%24file.text' }), signature);
  assert.equal(
    signatureOf(s3('GET /?lifecycle')),
    'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
  );
  for (const first of ['GET /?max-keys=2&prefix=J', 'GET /?prefix=J&max-keys=2']) {
    assert.equal(
      signatureOf(s3(first)),
      '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    );
  }
});

test('other requests get the signatures of the test suite of AWS', () => {
  const suite = (first: string, body?: string): Example => ({
    first,
    headers: ['Host: example.amazonaws.com', 'X-Amz-Date: 20150830T123600Z'],
    scope: '20150830/us-east-1/service',
    names: 'host;x-amz-date',
    value: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
    id: 'AKIDEXAMPLE',
    ...(body === undefined ? {} : { body }),
  });
  const vanilla = '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31';
  for (const target of ['/', '//', '/./', '/foo/..', '/foo/bar/../..']) {
    assert.equal(signatureOf(suite(`GET ${target}`, '')), vanilla, target);
  }
  assert.equal(
    signatureOf(suite('POST /')),
    '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
  );
  assert.equal(
    signatureOf(suite('GET /?Param2=value2&Param1=value1')),
    'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
  );
});

test('a signature of another form is refused, and so are chunks with signatures', () => {
  const known = s3('PUT /x');
  const refused = { kind: 'refused', rule: 'signature of an unknown form' };
  assert.deepEqual(sign({ ...known, names: 'host, x' }), refused);
  const headers = known.headers.filter((line) => !line.startsWith('x-amz-date'));
  assert.deepEqual(sign({ ...known, headers }), refused);
  const chunks = s3('PUT /x', [], 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD');
  assert.deepEqual(sign(chunks), { kind: 'refused', rule: 'chunks with signatures' });
});
