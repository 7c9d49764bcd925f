/** What names and commands say, as tables. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { classifyName, type NameClass } from '../src/redaction/detect/name-class.ts';
import { secretPriorOf, readPromptCommand } from '../src/redaction/detect/secret-prior.ts';
import type { SecretPrior } from '../src/redaction/secret-finding.ts';

const names: Readonly<Record<NameClass, string>> = {
  password: 'password DB_PASSWORD dbPassword passwd PGPASSWORD userPwd psk rootpw smtp.pass',
  secret: `API_KEY apiKey secret client_secret AWS_SECRET_ACCESS_KEY access-token authToken
    MASTER_KEY signingKey X-Api-Key jwt credential SESSION_SECRET token2 API_TOKEN_PROD`,
  likely: 'zorple_key ZORPLE_KEY sentryKey auth X-Amz-Signature clientToken api_tokens',
  mild: 'key keys tokens',
  none: `public_key key_id secretName tokenizer Secretary max_tokens keyboard monkey csrf_token
    cache_key primaryKey token_url password_file passwordHash token_type compass bypass next_token
    id name author keyword hotkey isPassword no_password password_length secret_arn`,
};

test('a name is judged by its words, not by the letters in it', () => {
  for (const [expected, list] of Object.entries(names)) {
    for (const name of list.split(/\s+/u)) assert.equal(classifyName(name), expected, name);
  }
});

const priors: Readonly<Record<SecretPrior, readonly string[]>> = {
  secrets: [
    'env',
    'printenv',
    'set',
    'export -p',
    'cat .env',
    'sudo cat /app/.env.production',
    'cat ~/.aws/credentials',
    'kubectl get secret db -o yaml',
    'gh auth token',
    'vault kv get secret/db',
    'vault read database/creds/app',
    'aws sts assume-role --role-arn x',
    'gcloud auth print-access-token',
    'op read op://v/i/f',
    'docker inspect web',
    'terraform output -json',
    'heroku config',
    'cat config/master.key',
    'ps auxe',
    'ps aux e',
    'git log -1; env',
    'env | sort',
    'cat .env | grep TOKEN',
    'tr "\\0" "\\n" < /dev/null; cat /proc/1/environ',
  ],
  hashes: [
    'sha256sum *',
    'git log --oneline',
    'git ls-remote origin',
    'nm -D a.so',
    'readelf -a a',
    'xxd a',
    'npm ls',
    'cat package-lock.json',
    'docker images',
    'git show HEAD | head',
    'cat .env | sha256sum && git status',
  ],
  none: ['ls', 'make', 'echo hello', 'npm test', 'cat README.md', ''],
};

test('what a command prints is told by its text', () => {
  for (const [expected, list] of Object.entries(priors)) {
    for (const command of list) assert.equal(secretPriorOf(command), expected, command);
  }
});

test('a prompt is told from other lines', () => {
  assert.equal(readPromptCommand('$ cat .env'), 'cat .env');
  assert.equal(readPromptCommand('root@web-1:~# env'), 'env');
  assert.equal(readPromptCommand('# a comment'), 'a comment');
  assert.equal(readPromptCommand('cat .env'), null);
  assert.equal(readPromptCommand('$HOME is set'), null);
});
