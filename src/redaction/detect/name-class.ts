/**
 * What the name of a variable, field, flag or header says about its value. The name is split into
 * words at `_ - .` and at capitals after lower-case letters. The last word that is not neutral
 * decides, with the word before it: `MASTER_KEY` names a secret; `public_key`, `max_tokens`,
 * `tokenizer`, `secretName`, `Secretary` and `monkey` do not.
 */
import { DIGIT, LOWER, UPPER, isCharacterOf } from './characters.ts';

/**
 * `password`: chosen by people, so any word can be one. `secret`: a key or token. `likely`: a key
 * if it looks like one (`x_key`). `mild`: only makes random text more suspicious (`key`).
 */
export type NameClass = 'password' | 'secret' | 'likely' | 'mild' | 'none';

const passwords = set(`password passwd passwort passphrase passcode pass pwd pw pswd psw psk
  userpwd userpass dbpass dbpwd dbpw rootpw adminpw mypass sshpass smtppass rootpass adminpass
  contrasena kennwort senha parola passe wachtwoord contrasenya contrasenia heslo salasana passord
  lozinka jelszo haslo sifre adgangskode kodeord parool sandi mdp`);
const passwordEndings = ['password', 'passwd', 'passphrase', 'passwort', 'pass'];
const notPasswords = set(
  `bypass compass surpass trespass encompass overpass underpass multipass askpass`,
);

const secrets =
  set(`secret secrets token credential credentials cred creds apikey apitoken authtoken
  accesstoken secretkey accesskey privatekey authkey licensekey masterkey encryptionkey
  signingkey appkey apisecret appsecret clientsecret consumersecret sharedkey accountkey
  sharedaccesskey sshkey wepkey deploykey jwt bearer authorization mnemonic usertoken bottoken
  refreshtoken sessiontoken otp totp crumb dockerconfigjson`);
const secretEndings = ['secret', 'token', 'apikey', 'secretkey', 'accesskey', 'privatekey'];

/** With one of these before it, `key` is certainly a secret; with any other word only `likely`. */
const keyOwners = set(`api access secret private auth encryption encrypt signing sign master app
  application account service admin license deploy storage shared client consumer subscription
  ssh webhook hmac jwt crypto cipher aes rsa root session cookie server developer dev
  integration write read ingest user project org fernet vault vendor merchant partner wallet
  provision provisioning device store customer site recovery authentication
  authorization unseal tsig preshared`);

/** With one of these before it, `key`, `token` and the like are no secret. */
const benignOwners =
  set(`public pub cache primary foreign partition sort row hash index idx map object group
  routing registry registration host idempotency dedup lock i18n translation config lookup json
  data field tab hot short arrow meta home return enter next page continuation continue sync
  csrf xsrf cancel cancellation idempotent pagination lexer parse parser unexpected expected
  start end previous prev last first eof eos bos special pad unk mask design resume change
  fencing nft max min num total count per input output completion prompt cached reasoning syntax
  dedupe deduplication css color theme dict dictionary sorted unique composite socket
  natural surrogate schema column table
  keyboard any no each by known unknown invalid missing duplicate new old current left right up
  down function punctuation keyword operator kms react event message node option property attr
  attribute param state context query mutation job task queue topic channel bucket span trace
  request response metric series stream shard segment hashed author default`);

/** With one of these after it, the word is about a secret, but not a secret. */
const benignEndings =
  set(`id ids url uri urls name names path paths file files filename dir directory type types
  length len size count counts limit max min ttl expiry expires expiration expire expired at age
  timeout duration policy field fields format version label labels description desc hint prompt
  regex pattern endpoint scope scopes created updated status enabled disabled required valid ref
  refs arn algorithm alg issuer index kind accessor rotation manager store provider source usage
  reset class header headers param params input form link button error errors message window
  text title placeholder list map set array object schema model table column row fn func
  function handler factory service controller module plugin helper util utils test tests spec
  generator builder parser lexer reader writer stream buffer pool cache hash hashed digest
  fingerprint mode state event action request response result check checker validator validation
  strength rules rule rate price cost balance address contract symbol holder owner user username
  login email host port domain realm audience lifetime ttlseconds seconds minutes hours days ms
  vault engine server client backend exchange selector length bits bytes number pair pairs ring
  chain space press down up code codes used usages uses left remaining per tag tags suffix
  prefix separator delimiter word words method methods info information metadata details detail
  management access config configuration settings options option property properties attribute
  attributes screen page dialog view template expired revoked missing invalid changed helper
  protector store safe less free`);

/** Neutral endings: the word before them decides. */
const neutralEndings = set(`value val values v base64 b64 hex current new old main live
  prod production staging dev test sandbox default primary secondary backup raw plain plaintext
  encoded string str var env data a b x y content body here base`);

/** Before `routing key`: the key alone gives access. */
const alerting = set('pagerduty pd opsgenie alert alerts integration');
/** Before `cookie`: a secret that two sides share, or a session. */
const cookieOwners = set('erlang magic rabbitmq session auth login remember secret');

/** Before `pass`: a pass through something, and no password. */
const beforePass = set(`by ask first second third multi two one render single each last next result
  final initial loop function machine debug print optimization analysis codegen compiler r`);
const negating = set('is has no not without');
const products = set(`publickeytoken jsonwebtoken 1password onepassword lastpass keepass gopass`);

const mild =
  set(`key keys auth session sid sess sig signature salt nonce hash code pin license serial
  tokens pat private cookie webhook community`);

const cache = new Map<string, NameClass>();
const cacheMax = 4096;

/** @param name as written in the text, without quotes and leading dashes */
export function classifyName(name: string): NameClass {
  const known = cache.get(name);
  if (known !== undefined) return known;
  const found = classify(wordsOf(name));
  if (cache.size >= cacheMax) cache.clear();
  cache.set(name, found);
  return found;
}

function classify(words: readonly string[]): NameClass {
  let last = words.length - 1;
  while (
    last > 0 &&
    neutralEndings.has(words[last] ?? '') &&
    meansSomething(words[last - 1] ?? '')
  ) {
    last--;
  }
  const word = words[last] ?? '';
  const before = words[last - 1] ?? '';
  if (products.has(word) || notPasswords.has(word)) return 'none';
  if (negating.has(before) || negating.has(words[0] ?? '')) return 'none';
  if (passwords.has(word) || endsIn(word, passwordEndings)) return passwordClass(words, last);
  if (word === 'key' || word === 'keys') {
    if (before === 'routing' && alerting.has(words[last - 2] ?? '')) return 'secret';
    return keyClass(before, word, words.length);
  }
  if (word === 'cookie' && cookieOwners.has(before)) return 'secret';
  // `secret_id` is a secret at Vault and Tencent Cloud; `client_secret_id` only names one.
  if (word === 'id' && before === 'secret') return words[last - 2] === 'client' ? 'none' : 'secret';
  // `PublicKeyToken=…`: part of an assembly's name in .NET.
  if (word === 'token' && before === 'key' && words[last - 2] === 'public') return 'none';
  if (secrets.has(word) || endsIn(word, secretEndings)) {
    // An idempotency token at AWS, a key at Vault: the value decides.
    if (before === 'client' && word === 'token') return 'likely';
    if (benignOwners.has(before)) return word === 'secret' && before !== 'no' ? 'likely' : 'none';
    return 'secret';
  }
  if (word === 'tokens' && benignOwners.has(before)) return 'none';
  if (word === 'tokens' && keyOwners.has(before)) return 'likely';
  if (word === 'pat' && words.length > 1) return 'likely';
  if (benignEndings.has(word)) return 'none';
  if (word === 'auth' || word === 'sig' || word === 'seed' || word === 'signature') return 'likely';
  return mild.has(word) ? 'mild' : 'none';
}

function passwordClass(words: readonly string[], last: number): NameClass {
  const word = words[last] ?? '';
  const before = words[last - 1] ?? '';
  // `pass` and `pw` are short enough to mean something else: `by_pass`, `first_pass`.
  if (word === 'pass' && beforePass.has(before)) {
    return 'none';
  }
  // The old directory, and no password.
  return word === 'pwd' && before === 'old' ? 'none' : 'password';
}

function keyClass(before: string, word: string, count: number): NameClass {
  if (count === 1 || before === '') return 'mild';
  if (benignOwners.has(before)) return 'none';
  if (keyOwners.has(before)) return word === 'key' ? 'secret' : 'likely';
  return 'likely';
}

function meansSomething(word: string): boolean {
  return (
    passwords.has(word) ||
    secrets.has(word) ||
    word === 'key' ||
    word === 'auth' ||
    endsIn(word, passwordEndings) ||
    endsIn(word, secretEndings)
  );
}

function endsIn(word: string, endings: readonly string[]): boolean {
  return endings.some((ending) => word.endsWith(ending));
}

/** In lower case, without digits at the end: `token2` is `token`. */
function wordsOf(name: string): string[] {
  const words: string[] = [];
  let from = 0;
  for (let at = 0; at <= name.length; at++) {
    if (at < name.length && isCharacterOf(name, at, UPPER | LOWER | DIGIT) && !turns(name, at)) {
      continue;
    }
    if (at > from) words.push(...bare(name.slice(from, at)));
    from = isCharacterOf(name, at, UPPER | LOWER | DIGIT) ? at : at + 1;
  }
  return words;
}

/** Whether a new word begins here: at `B` of `aB`, or at the last capital of `ABc`. */
function turns(name: string, at: number): boolean {
  if (at === 0 || !isCharacterOf(name, at, UPPER)) return false;
  if (isCharacterOf(name, at - 1, LOWER | DIGIT)) return true;
  return isCharacterOf(name, at - 1, UPPER) && isCharacterOf(name, at + 1, LOWER);
}

function bare(word: string): string[] {
  let end = word.length;
  while (end > 0 && isCharacterOf(word, end - 1, DIGIT)) end--;
  return end === 0 ? [] : [word.slice(0, end).toLowerCase()];
}

function set(words: string): ReadonlySet<string> {
  return new Set(words.split(/\s+/u));
}
