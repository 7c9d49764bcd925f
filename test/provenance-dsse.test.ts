// The envelope of a statement: vectors of the specification, and everything that must not verify.
import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import { ed25519Signer, inTotoPayload, verifyEnvelope } from '../src/provenance/dsse.ts';
import { dsseKeyId, preAuthEncoding, signEnvelope } from '../src/provenance/dsse.ts';
import { statementPayload, buildStatement } from '../src/provenance/statement.ts';
import { record } from './support/provenance.ts';

const pair = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { signer: ed25519Signer(privateKey), publicKey };
};

test('what is signed is what the specification prints', () => {
  const type = 'http://example.com/HelloWorld';
  const signed = preAuthEncoding(type, Buffer.from('hello world')).toString();
  assert.equal(signed, 'DSSEv1 29 http://example.com/HelloWorld 11 hello world');
  // Lengths are of bytes.
  assert.equal(preAuthEncoding('é', Buffer.from('é')).toString(), 'DSSEv1 2 é 2 é');
  assert.equal(preAuthEncoding('', Buffer.of()).toString(), 'DSSEv1 0  0 ');
});

test('the envelope that the specification prints verifies, and no other', () => {
  const coordinate = (n: bigint): string =>
    Buffer.from(n.toString(16).padStart(64, '0'), 'hex').toString('base64url');
  const x = 46950820868899156662930047687818585632848591499744589407958293238635476079160n;
  const y = 5640078356564379163099075877009565129882514886557779369047442380624545832820n;
  const jwk = { kty: 'EC', crv: 'P-256', x: coordinate(x), y: coordinate(y) };
  const keys = [createPublicKey({ key: jwk, format: 'jwk' })];
  const envelope = {
    payload: 'aGVsbG8gd29ybGQ=',
    payloadType: 'http://example.com/HelloWorld',
    signatures: [
      {
        sig:
          'A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJ' +
          'PcIAriEGAHTVeCUjW2JIZA==',
      },
    ],
  };
  const type = envelope.payloadType;
  assert.equal(verifyEnvelope(envelope, { keys, type })?.toString(), 'hello world');
  const other = { ...envelope, payload: 'aGVsbG8gd29ybGE=' };
  assert.equal(verifyEnvelope(other, { keys, type }), null);
  assert.equal(verifyEnvelope(envelope, { keys }), null, 'another type than was asked for');
});

test('a statement comes out as it went in, in either alphabet of base64', () => {
  const { signer, publicKey } = pair();
  const payload = statementPayload(buildStatement(record({ basis: { command: 'ÿþý~~~???' } })));
  const envelope = signEnvelope(inTotoPayload, payload, [signer]);
  assert.deepEqual(verifyEnvelope(envelope, { keys: [publicKey] }), payload);
  const urlSafe = (text: string): string => Buffer.from(text, 'base64').toString('base64url');
  const signatures = envelope.signatures.map((one) => ({ ...one, sig: urlSafe(one.sig) }));
  const spelled = { ...envelope, payload: urlSafe(envelope.payload), signatures };
  assert.deepEqual(verifyEnvelope(spelled, { keys: [publicKey] }), payload);
});

test('no changed character of payload, type or signature verifies', () => {
  const { signer, publicKey } = pair();
  const envelope = signEnvelope(inTotoPayload, Buffer.from('{"a":[1,2,3]}'), [signer]);
  const [signature] = envelope.signatures;
  assert.ok(signature !== undefined);
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=_-.! \n';
  const opened = (changed: unknown) => verifyEnvelope(changed, { keys: [publicKey] });
  const isFull = process.env['TRL_PROVE'] === 'full';
  const swaps = (text: string) =>
    Array.from(text).flatMap((was, at) =>
      Array.from(alphabet)
        // By turns, so that each letter comes to many places.
        .filter((to, n) => to !== was && (isFull || (n + at) % 5 === 0))
        .map((to) => text.slice(0, at) + to + text.slice(at + 1)),
    );
  const sameBytes = (one: string, two: string): boolean =>
    Buffer.from(one, 'base64').equals(Buffer.from(two, 'base64'));
  for (const payload of swaps(envelope.payload)) {
    const told = opened({ ...envelope, payload });
    // The other alphabet spells the same bytes.
    assert.ok(told === null || sameBytes(payload, envelope.payload), payload);
    assert.ok(told === null || told.toString() === '{"a":[1,2,3]}');
  }
  for (const payloadType of swaps(envelope.payloadType)) {
    assert.equal(opened({ ...envelope, payloadType }), null, payloadType);
    // Nor where the reader wants what is written there now.
    const wanted = { keys: [publicKey], type: payloadType };
    assert.equal(verifyEnvelope({ ...envelope, payloadType }, wanted), null);
  }
  for (const sig of swaps(signature.sig)) {
    const told = opened({ ...envelope, signatures: [{ ...signature, sig }] });
    assert.ok(told === null || sameBytes(sig, signature.sig), sig);
  }
  assert.equal(opened({ ...envelope, signatures: [] }), null);
});

test('a type and a payload that join to the same text are not taken for each other', () => {
  const { signer, publicKey } = pair();
  const sealed = signEnvelope('a', Buffer.from('b 1 c'), [signer]);
  const [{ sig } = { sig: '' }] = sealed.signatures;
  const payload = Buffer.from('c').toString('base64');
  const forged = { payload, payloadType: 'a 5 b', signatures: [{ keyid: '', sig }] };
  assert.equal(verifyEnvelope(forged, { keys: [publicKey], type: 'a 5 b' }), null);
});

test('as many distinct keys must have signed as are wanted', () => {
  const [one, two, other] = [pair(), pair(), pair()];
  const payload = Buffer.from('{}');
  const envelope = signEnvelope(inTotoPayload, payload, [one.signer, two.signer]);
  const count = (keys: readonly (typeof one)[], threshold: number) =>
    verifyEnvelope(envelope, { keys: keys.map(({ publicKey }) => publicKey), threshold }) !== null;
  assert.ok(count([one], 1));
  assert.ok(count([other, two], 1));
  assert.ok(count([one, two], 2));
  assert.ok(!count([one, other], 2));
  assert.ok(!count([one, one], 2), 'a key that is given twice counts once');
  assert.ok(!count([other], 1));
  assert.ok(!count([one], 0), 'nobody is no signature');
  const twice = { ...envelope, signatures: [...envelope.signatures, ...envelope.signatures] };
  assert.equal(
    verifyEnvelope(twice, { keys: [one.publicKey, other.publicKey], threshold: 2 }),
    null,
  );
  assert.deepEqual(
    envelope.signatures.map(({ keyid }) => keyid),
    [one, two].map(({ publicKey }) => dsseKeyId(publicKey)),
  );
});

test('the key id decides nothing', () => {
  const [one, other] = [pair(), pair()];
  const envelope = signEnvelope(inTotoPayload, Buffer.from('{}'), [one.signer]);
  const named = envelope.signatures.map(({ sig }) => ({ sig, keyid: other.signer.keyid }));
  assert.equal(
    verifyEnvelope({ ...envelope, signatures: named }, { keys: [other.publicKey] }),
    null,
  );
  assert.ok(verifyEnvelope({ ...envelope, signatures: named }, { keys: [one.publicKey] }) !== null);
});

test('whatever is no envelope opens to nothing', () => {
  const { publicKey } = pair();
  fc.assert(
    fc.property(fc.anything(), (value) => {
      assert.equal(verifyEnvelope(value, { keys: [publicKey] }), null);
    }),
  );
});
