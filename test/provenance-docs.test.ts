// The scripts of docs/provenance.md, taken out of it, check an envelope by themselves.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { canonicalJson } from '../src/canonical.ts';
import {
  ed25519Signer,
  inTotoPayload,
  signEnvelope,
  type DsseEnvelope,
} from '../src/provenance/dsse.ts';
import { statementPayload, buildStatement } from '../src/provenance/statement.ts';
import { change, record, recordedOf } from './support/provenance.ts';

const root = path.dirname(import.meta.dirname);
const document = readFileSync(path.join(root, 'docs/provenance.md'), 'utf8');

/** The openssl of old does not sign what it has not hashed. */
function whyNoOpenssl(): string | false {
  const help = spawnSync('openssl', ['pkeyutl', '-help'], { encoding: 'utf8' });
  return /-rawin/.test(`${help.stdout}${help.stderr}`) ? false : 'openssl without ed25519';
}

const scripts = [
  { language: 'sh', file: 'verify.sh', program: 'sh', skip: whyNoOpenssl() },
  { language: 'js', file: 'verify.mjs', program: process.execPath, skip: false },
] as const;

for (const { language, file, program, skip } of scripts) {
  test(`the ${file} of the document checks an envelope alone`, { skip }, (t) => {
    const home = mkdtempSync(path.join(tmpdir(), 'trl-verify-'));
    t.after(() => rmSync(home, { recursive: true, force: true }));
    const [, script = ''] = new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(document) ?? [];
    assert.ok(script.includes(file), 'the document has the script');
    const place = (name: string, content: string): string => {
      const at = path.join(home, name);
      writeFileSync(at, content);
      return at;
    };
    const check = (envelope: DsseEnvelope, key: string) =>
      spawnSync(
        program,
        [place(file, script), place('envelope.json', canonicalJson(envelope)), place('key', key)],
        { encoding: 'utf8' },
      );
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const pem = String(publicKey.export({ type: 'spki', format: 'pem' }));
    const recorded = recordedOf([change('é'), change('\xff')]);
    const payload = statementPayload(
      buildStatement(record({ recorded, basis: { command: 'echo "é"' } })),
    );
    const envelope = signEnvelope(inTotoPayload, payload, [ed25519Signer(privateKey)]);

    const good = check(envelope, pem);
    assert.equal(good.status, 0, good.stderr);
    assert.equal(good.stdout.trim(), payload.toString());

    const changed = Buffer.from(payload.toString().replace('"allow"', '"block"'));
    assert.notDeepEqual(changed, payload);
    const forged = { ...envelope, payload: changed.toString('base64') };
    assert.notEqual(check(forged, pem).status, 0, 'another payload');
    assert.notEqual(check({ ...envelope, payloadType: 'text/plain' }, pem).status, 0);
    const { publicKey: other } = generateKeyPairSync('ed25519');
    const another = String(other.export({ type: 'spki', format: 'pem' }));
    assert.notEqual(check(envelope, another).status, 0, 'another key');
  });
}
