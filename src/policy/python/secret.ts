/** Which variables and files hold secrets, by name. */

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const secretWords = words(
  'key keys apikey token tokens secret secrets password passwd passphrase pwd pass credential ' +
    'credentials pat dsn auth',
);
/** Words after which a name tells where or what a secret is, not the secret. */
const aboutWords = words(
  'path file dir name id url uri len length size type count host port version format ttl expiry ' +
    'limit budget max',
);
const glued = ['apikey', 'token', 'secret', 'password', 'passwd', 'credentials'];

/** Whether a variable of this name holds a secret: `API_KEY` does, `PUBLIC_KEY_PATH` does not. */
export function isSecretName(name: string): boolean {
  const parts = name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((part) => part !== '');
  const last = parts.at(-1);
  if (last === undefined || aboutWords.has(last) || parts.includes('public')) {
    return false;
  }
  if (parts.length === 1 && ['pwd', 'pass', 'auth', 'key', 'keys'].includes(last)) {
    return last === 'key';
  }
  return parts.some((part) => secretWords.has(part)) || glued.some((end) => last.endsWith(end));
}

const examples = words('example sample template dist tmpl default defaults');
const credentials = words('.netrc _netrc .npmrc .pypirc .pgpass .git-credentials .htpasswd');
const keyNames = ['id_rsa', 'id_dsa', 'id_ecdsa', 'id_ed25519'];

/** Whether a path names a file of secrets: `.env`, a private key, the environment of a process. */
export function isSecretFile(path: string): boolean {
  const parts = path
    .replaceAll('\\', '/')
    .toLowerCase()
    .split('/')
    .filter((part) => part !== '');
  const base = (parts.at(-1) ?? '').split(':')[0] ?? '';
  const folder = parts.at(-2) ?? '';
  if (base === '.env' || base === '.envrc') {
    return true;
  }
  if (base.startsWith('.env.') || base.startsWith('.env-') || base.startsWith('.env_')) {
    return !base
      .slice(5)
      .split(/[._-]/)
      .some((part) => examples.has(part));
  }
  if (parts.length > 1 && parts.includes('proc') && base === 'environ') {
    return true;
  }
  return (
    credentials.has(base) ||
    keyNames.includes(base) ||
    (folder === '.aws' && base === 'credentials') ||
    (parts.join('/') === 'etc/shadow' && path.startsWith('/'))
  );
}
