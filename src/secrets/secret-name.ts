/**
 * Which variables of an environment are secrets: by what their names say, by values whose form says
 * it whatever the name, and not where the value cannot be one. Pure.
 */

/** Words that name a secret wherever they stand in a name. */
const secretWords: ReadonlySet<string> = new Set(
  [
    'SECRET SECRETS TOKEN PASSWORD PASSWORDS PASSWD PASSWRD PASSPHRASE PASSPHRASES PASSCODE',
    'CREDENTIAL CREDENTIALS CREDS APIKEY APIKEYS AUTHKEY ACCESSKEY SECRETKEY PRIVATEKEY',
    'SIGNINGKEY ENCRYPTIONKEY MASTERKEY AUTHTOKEN ACCESSTOKEN REFRESHTOKEN BEARER JWT PAT',
    'AUTHORIZATION',
    'PASS PSW MYSQLPASSWORD PGPASSWORD SSHPASS DSN COOKIE COOKIES HMAC PEPPER OTP TOTP MNEMONIC',
  ].flatMap((line) => line.split(' ')),
);
/** These do at the end of a name only: `PWD` alone is a directory, `AUTH_MODE` a choice. */
const lastWords: ReadonlySet<string> = new Set(['PWD', 'AUTH', 'KEY', 'KEYS', 'TOKENS', 'SALT']);
/** Names that end so are about a secret, and none themselves. */
const benignLast: ReadonlySet<string> = new Set(
  [
    'ID IDS NAME NAMES FILE FILES PATH PATHS DIR DIRECTORY URL URI URLS ENDPOINT HOST PORT SOCK',
    'SOCKET USER USERNAME EMAIL REGION VERSION TYPE KIND ALG ALGORITHM ENABLED DISABLED MODE',
    'METHOD PROVIDER COMMAND CMD HELPER PROGRAM ISSUER AUDIENCE SCOPE SCOPES TIMEOUT AGE TTL',
    'EXPIRY EXPIRES EXPIRATION LENGTH SIZE LIMIT COUNT MAX MIN HEADER PREFIX SUFFIX FORMAT STORE',
    'ROTATION POLICY HASHER FINGERPRINT DAYS HOURS MINUTES SECONDS CHAIN RING DOMAIN BACKEND',
  ].flatMap((line) => line.split(' ')),
);
/** Before `KEY`, these say that everybody may know it. */
const publicWords: ReadonlySet<string> = new Set(['PUBLIC', 'PUB', 'PUBLISHABLE', 'HOST', 'GPG']);
/** Before `KEY` or `TOKENS`, these say that it is a number, a sort key or a key on a keyboard. */
const plainWords: ReadonlySet<string> = new Set(
  'MAX MIN NUM COUNT SORT PRIMARY FOREIGN PARTITION CACHE COMPOSE HOT MENU REPEAT'.split(' '),
);
/** Names of their own, such as a program that asks for the password. */
const plainNames: ReadonlySet<string> = new Set(['PWD', 'OLDPWD', 'SSH_AUTH_SOCK', 'XAUTHORITY']);

/** What no secret looks like: nothing, a switch, a number, a path. */
const plainValue =
  /^(?:|true|false|yes|no|on|off|none|null|undefined|\d{1,9}|\.{0,2}\/[\w./+@~-]*)$/i;

/** Keys whose form is known to everybody, whatever the variable is called. */
const keyForms: readonly RegExp[] = [
  /^gh[opusr]_\w{30,}/,
  /^github_pat_\w{30,}/,
  /^glpat-[\w-]{18,}/,
  /^xox[abeprs]-[\w-]{10,}/,
  /^(?:sk|rk)_(?:live|test)_\w{16,}/,
  /^sk-[\w-]{20,}/,
  /^npm_[A-Za-z0-9]{30,}/,
  /^AIza[\w-]{30,}/,
  /^(?:hf|dop_v1|pypi|shpat|sq0atp|SG)[_.-][\w.-]{20,}/,
  /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}/,
  /^-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /^AGE-SECRET-KEY-1/,
  /^https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/./,
  /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks\/./,
  // A key in the place of a user: `https://ghp_…@github.com`.
  /^[a-z][a-z0-9+.-]{0,30}:\/\/(?=[^\s/@:]*\d)[^\s/@:]{16,256}@/i,
];

/** Whether a variable called `name` is meant to hold a secret, by its name alone. */
export function isSecretName(name: string): boolean {
  if (plainNames.has(name)) return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? '';
  const before = words.at(-2) ?? '';
  if (benignLast.has(last) || words.some((word) => publicWords.has(word) && last === 'KEY')) {
    return false;
  }
  if (words.some((word) => secretWords.has(word))) return true;
  return lastWords.has(last) && !plainWords.has(before) && (last !== 'KEY' || words.length > 1);
}

/** Whether `name=value` of an environment is a secret. */
export function isSecretVariable(name: string, value: string): boolean {
  if (plainValue.test(value)) return false;
  return isSecretName(name) || hasPassword(value) || keyForms.some((form) => form.test(value));
}

/** A URL with a password in it, such as `postgres://app:s3cret@db/app`. */
function hasPassword(value: string): boolean {
  return /^[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/@:]{0,256}:[^\s/@]{1,1024}@/i.test(value);
}

/** `npm_config__authToken` → NPM CONFIG AUTH TOKEN. */
function wordsOf(name: string): string[] {
  const spaced = name
    .slice(0, 256)
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1_$2');
  return spaced
    .toUpperCase()
    .split(/[^A-Z\d]+/)
    .map((word) => word.replace(/(?<=[A-Z])\d+$/, ''))
    .filter((word) => !/^\d*$/.test(word));
}
