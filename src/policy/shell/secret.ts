/** Which files and variables hold secrets, by name. Pure: does not follow links. */
import type { ShellWord } from '../syntax/script.ts';
import { normalizeShellPath, gapMarkedText } from './derived-words.ts';

/** `block`: its content must not be shown. `ask`: it may hold a secret. */
export type Secrecy = 'block' | 'ask' | null;

const environmentFile = /^\.env(?:rc)?(?:$|[.\-_~])/i;
const template = /[.\-_](?:example|sample|template|dist|tpl|tmpl|schema|defaults?)(?:$|\.)/i;
const keyFile = /(?:^|\/)(?:\.ssh\/(?:id_|identity$)|\.aws\/credentials$|\.gnupg\/)/i;
const systemFile = /^\/etc\/(?:g?shadow|sudoers|master\.passwd)-?$/i;
const processEnvironment = /^\/proc\/[^/]+\/(?:task\/[^/]+\/)?environ$/i;
const perhaps = oneOf(
  [
    String.raw`(?:^|/)(?:\.npmrc|\.netrc|_netrc|\.pgpass|\.pypirc|\.git-credentials|\.my\.cnf)$`,
    String.raw`(?:^|/)(?:credentials(?:\.json)?|secrets?\.(?:json|ya?ml|toml|env)|[^/]*\.env)$`,
    String.raw`(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519))$`,
    String.raw`\.(?:pem|key|p12|pfx|kdbx|jks|keystore)$`,
    String.raw`(?:^|/)\.(?:ssh|aws|gnupg|kube|docker)(?:/|$)`,
    String.raw`(?:^|/)\.git/(?:config(?:\.worktree)?|credentials)$`,
    String.raw`(?:^|/)(?:\.htpasswd|\.vault-token|kubeconfig|[^/]*\.(?:tfvars|tfstate))$`,
  ],
  'i',
);

function oneOf(sources: readonly string[], flags: string): RegExp {
  return new RegExp(sources.join('|'), flags);
}

/** How secret the file of this path is; a gap (U+FFFF) may be any text. */
export function fileSecrecy(path: string): Secrecy {
  const plain = normalizeShellPath(path);
  const base = plain.slice(plain.lastIndexOf('/') + 1);
  if (processEnvironment.test(plain) || systemFile.test(plain)) return 'block';
  if (environmentFile.test(base)) return template.test(base) ? 'ask' : 'block';
  if (keyFile.test(plain)) return base.endsWith('.pub') ? 'ask' : 'block';
  return perhaps.test(plain) ? 'ask' : null;
}

/** Of a bracket expression, in UTF-16 units. */
const classMax = 128;
const globMax = 512;
const candidates = ['.env', '.env.local', '.env.production', '.envrc', '.env.development'];

/** How secret the files are that a word names: also by a pattern that matches them. */
export function wordSecrecy(word: ShellWord): Secrecy {
  if (word.glob !== null) {
    const secrecy = globSecrecy(word.glob);
    if (secrecy !== null) return secrecy;
  }
  const text = gapMarkedText(word);
  // `$x.env` may be any file of that ending; `$HOME/.env` is one.
  return fileSecrecy(text.replaceAll('\uFFFF', /\uFFFF\//.test(text) ? '\uFFFF' : 'x'));
}

/** The files of the lists above, as a glob for programs that search; no braces in braces. */
export const secretGlob =
  '**/{.env,.envrc,.env[.~_-]*,.envrc[.~_-]*,*.env,.npmrc,.netrc,_netrc,.pgpass,.pypirc,.my.cnf,' +
  '.git-credentials,credentials,credentials.json,secret.json,secret.yml,secret.yaml,secret.toml,' +
  'secrets.json,secrets.yml,secrets.yaml,secrets.toml,id_rsa,id_dsa,id_ecdsa,id_ed25519,*.pem,' +
  '*.key,*.p12,*.pfx,*.kdbx,*.jks,*.keystore,*.tfvars,*.tfstate,.ssh,.aws,.gnupg,.kube,.docker,' +
  '.git/config,.git/config.worktree,.git/credentials,.htpasswd,.vault-token,kubeconfig}';

const secretSamples = [...candidates, '.npmrc', '.netrc', 'id_rsa', 'server.key', 'server.pem'];
const plainSamples = ['README.md', 'index.ts', 'package.json', 'main', 'Makefile'];

/**
 * Whether a pattern, or a plain name, may take in a file with secrets that it means. Here a star
 * also takes the dot that begins a name. What takes in ordinary files as well means those.
 */
export function globMayMatchSecret(pattern: string): boolean {
  const base = pattern.slice(pattern.lastIndexOf('/') + 1);
  if (fileSecrecy(pattern) !== null) return true;
  if (!/[*?[{\\]/.test(base)) return false;
  if (base.length > globMax || globSecrecy(pattern) !== null) return true;
  const takes = globExpression(base);
  const takesAny = (samples: readonly string[]): boolean => samples.some((one) => takes.test(one));
  return takesAny(secretSamples) && !takesAny(plainSamples);
}

/** A pattern that begins with a dot and a letter of `.env`, and matches such a file. */
function globSecrecy(glob: string): Secrecy {
  const slash = glob.lastIndexOf('/');
  const base = glob.slice(slash + 1);
  if (/^\/proc\/.*\/environ$/.test(glob)) return 'block';
  if (!base.startsWith('.') && !/^\[[^\]]*\.[^\]]*\]/.test(base)) {
    return /env|pem|key|secret|cred/i.test(base) ? 'ask' : null;
  }
  // An expression of so many parts cannot be matched, and no name needs them.
  if (base.length > globMax) return 'ask';
  const pattern = globExpression(base);
  if (!candidates.some((name) => pattern.test(name))) return null;
  return /[a-z]/i.test(base) && !template.test(base) ? 'block' : 'ask';
}

/**
 * `?`, `*`, bracket expressions and escaped letters; anything else is itself. A class in brackets
 * (`[[:alpha:]]`) is any letter. Linear: no nested repetition.
 */
function globExpression(glob: string): RegExp {
  let source = '';
  for (let at = 0; at < glob.length; at += 1) {
    const letter = glob[at] ?? '';
    const classes = letter === '[' ? /^\[(?:[^[\]]|\[:\w+:\])*\[:\w+:\][^\]]*\]/ : null;
    const named = classes?.exec(glob.slice(at, at + classMax))?.[0];
    const close = letter === '[' ? glob.indexOf(']', at + 2) : -1;
    if (letter === '\\' && at + 1 < glob.length) {
      at += 1;
      source += (glob[at] ?? '').replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&');
    } else if (named !== undefined) {
      source += '.';
      at += named.length - 1;
    } else if (letter === '*') source = source.endsWith('.*') ? source : `${source}.*`;
    else if (letter === '?') source += '.';
    else if (close !== -1) {
      const set = glob
        .slice(at + 1, close)
        .replace(/^!/, '^')
        .replaceAll(/[\\\]]/g, '\\$&');
      source += `[${set}]`;
      at = close;
    } else source += letter.replaceAll(/[$()*+./?[\\\]^{|}-]/g, '\\$&');
  }
  try {
    return new RegExp(`^(?:${source})$`, 'i');
  } catch {
    return /^$/;
  }
}

const secretWords =
  'API_?KEY|KEY|KEYS|TOKEN|TOKENS|SECRET|SECRETS|PASS|PASSWD|PASSWORD|PASSWORDS|PASSPHRASE|' +
  'CREDENTIAL|CREDENTIALS|CREDS|PAT|PRIVATE|DSN|ACCESS_KEY_ID|AUTH';
const stages = String.raw`BASE64|B64|PROD|PRODUCTION|DEV|STAGING|TEST|LIVE|OLD|NEW|\d+`;
const secretNames = oneOf([`(?:^|_)(?:${secretWords})(?:_(?:${stages}))?$`], 'i');
const joinedNames = /(?:apikey|secretkey|accesskey|privatekey|password|passwd|token|secret)$/i;
const wellKnown = /^(?:DATABASE_URL|MONGO(?:DB)?_UR[IL]|REDIS_URL|PGPASSWORD|MYSQL_PWD)$/i;
const harmless = oneOf(
  [
    '(?:^|_)(?:PUBLIC|PUB)(?:_|$)',
    // How many of them a model may read or write.
    '(?:^|_)(?:MAX|MIN|NUM|TOTAL|INPUT|OUTPUT|PROMPT|COMPLETION)_TOKENS$',
  ],
  'i',
);
/** One word in lower case is mostly the variable of a loop. */
const short = /^(?:key|keys|token|tokens|pass|auth|pat|private)$/;

/** Whether a variable of this name holds a secret. */
export function isSecretVariableName(name: string): boolean {
  if (short.test(name) || harmless.test(name)) return false;
  return secretNames.test(name) || joinedNames.test(name) || wellKnown.test(name);
}
