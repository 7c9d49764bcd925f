/** What the words in a name say of its value. Pure. */

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
const lastWords: ReadonlySet<string> = new Set('PWD AUTH KEY KEYS TOKENS SALT PIN'.split(' '));
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

/** Under these a value of digits alone is a secret; a `KEY` or an `AUTH` may be a number. */
const digitsLast: ReadonlySet<string> = new Set(['PWD', 'PIN']);

/** Whether a variable called `name` is meant to hold a secret, by its name alone. */
export function isSecretLikeName(name: string): boolean {
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

/** Whether a value of digits alone, under this name, can be a secret: `DB_PASSWORD`, `CARD_PIN`. */
export function mayBeNumericSecret(name: string): boolean {
  const words = wordsOf(name);
  const isCount = words.some((word) => plainWords.has(word));
  if (isCount || !isSecretLikeName(name)) return false;
  return words.some((word) => secretWords.has(word)) || digitsLast.has(words.at(-1) ?? '');
}

/** Whether the name is about something that everybody may know: `host`, `user_name`, `region`. */
export function isBenignName(name: string): boolean {
  return benignLast.has(wordsOf(name).at(-1) ?? '');
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
