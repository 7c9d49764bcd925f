/**
 * Symbols: bytes reduced to letters and digits without case. `0`: the byte is no symbol. Bytes from
 * 0x80 are symbols only for values with letters outside ASCII.
 */
import { hashedSymbols } from './value-forms.ts';

export const breakSymbol = 255;
const wideFirst = 37;

/** The symbol of each byte; bytes from 0x80 have none. */
export const narrowSymbols: Readonly<Uint8Array> = symbolTable(false);
export const wideSymbols: Readonly<Uint8Array> = symbolTable(true);

function symbolTable(wide: boolean): Uint8Array {
  const table = new Uint8Array(256);
  for (let digit = 0; digit < 10; digit += 1) table[0x30 + digit] = 1 + digit;
  for (let letter = 0; letter < 26; letter += 1) {
    table[0x41 + letter] = 11 + letter;
    table[0x61 + letter] = 11 + letter;
  }
  if (wide) for (let byte = 0x80; byte < 0x100; byte += 1) table[byte] = wideFirst + byte - 0x80;
  return table;
}

/**
 * The length of the punctuation or invisible character at `at` beyond ASCII: U+0080 to U+00BF,
 * U+2000 to U+2BFF, or the byte order mark; 0: the byte is part of a letter.
 */
export function widePunctuation(bytes: Uint8Array, at: number): number {
  const byte = bytes[at] ?? 0;
  if (byte === 0xc2) return 2;
  if (byte === 0xe2) return 3;
  return byte === 0xef && (bytes[at + 1] === 0xbb || bytes[at + 1] === 0xb8) ? 3 : 0;
}

/** The symbols of a text, without decoding escapes. */
export function toSymbols(text: Uint8Array, wide: boolean): Uint8Array {
  const table = wide ? wideSymbols : narrowSymbols;
  const symbols = new Uint8Array(text.length);
  let count = 0;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (wide && byte >= 0x80) {
      const skipped = widePunctuation(text, at);
      if (skipped > 0) {
        at += skipped - 1;
        continue;
      }
    }
    const symbol = table[byte] ?? 0;
    if (symbol !== 0) symbols[count++] = symbol;
  }
  return symbols.subarray(0, count);
}

const multiplier = 0x01000193;

/** Rolling hash of the last `length` symbols: `next = hash * multiplier + in - out[leaving]`. */
export const hashMultiplier = multiplier;

const weightsOf = new Map<number, Int32Array>();

/** The part of each symbol in the hash, to subtract when it leaves a window of `length`. */
export function leavingWeights(length: number): Int32Array {
  const cached = weightsOf.get(length);
  if (cached !== undefined) return cached;
  let power = 1;
  for (let step = 0; step < length; step += 1) power = Math.imul(power, multiplier);
  const weights = Int32Array.from({ length: 256 }, (_, symbol) => Math.imul(symbol, power));
  weightsOf.set(length, weights);
  return weights;
}

/** The hash of the `length` symbols before each offset; of fewer at the start. */
export function symbolHashes(symbols: Uint8Array, length: number): Int32Array {
  const weights = leavingWeights(length);
  const hashes = new Int32Array(symbols.length + 1);
  let hash = 0;
  for (let at = 0; at < symbols.length; at += 1) {
    const leaving = at < length ? 0 : (weights[symbols[at - length] ?? 0] ?? 0);
    hash = (Math.imul(hash, multiplier) + (symbols[at] ?? 0) - leaving) | 0;
    hashes[at + 1] = hash;
  }
  return hashes;
}

/** Spreads a hash over 32 bits: the low bits of the rolling hash depend on few symbols. */
export const spreadHash = (hash: number): number => Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);

/** The bits for a spread hash in a word of the filter; its high bits select the word. */
export const hashFilterBits = (mixed: number): number =>
  (1 << (mixed & 31)) | (1 << ((mixed >>> 5) & 31)) | (1 << ((mixed >>> 10) & 31));

const letterFirst = 11;
const letterLast = 36;

/** The most frequent pairs of letters in English, in names of code and in addresses. */
const commonPairs = new Set(
  (
    'th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ' +
    've co me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec ' +
    'pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ' +
    'ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab ' +
    'gh ty op wo sa ay ex ke fr oo av ag if ap gr od bo sp rd do uc bu ei ov by rm ep tt oc fa ' +
    'sq ql pp db bi xa mp rn ht tp ps ub ck ew ey ls va um up rc cu qu ua ft ru sc rv my pg ys tg'
  )
    .split(' ')
    .map((pair) => pairOf(symbolOf(pair.charCodeAt(0)), symbolOf(pair.charCodeAt(1)))),
);

function symbolOf(code: number): number {
  return code - 0x61 + letterFirst;
}
function pairOf(first: number, second: number): number {
  return first * 64 + second;
}

/** Phrases that occur in many secrets and in many other texts, as symbols. */
const stockPhrases = [
  ...['RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', ''].flatMap((kind) =>
    ['BEGIN', 'END'].map((edge) => `${edge} ${kind}PRIVATE KEY`),
  ),
  ...['CERTIFICATE', 'PUBLIC KEY', 'PGP PRIVATE KEY BLOCK', 'PGP PUBLIC KEY BLOCK'].flatMap(
    (kind) => [`BEGIN ${kind}`, `END ${kind}`],
  ),
  'type service_account project_id',
  'private_key_id',
  'private_key BEGIN PRIVATE KEY',
  'client_email',
  'iam.gserviceaccount.com client_id',
  'auth_uri https://accounts.google.com/o/oauth2/auth',
  'token_uri https://oauth2.googleapis.com/token',
  'auth_provider_x509_cert_url https://www.googleapis.com/oauth2/v1/certs client_x509_cert_url',
  'https://www.googleapis.com/robot/v1/metadata/x509/',
  'universe_domain googleapis.com',
  'postgresql://postgres:postgres@localhost:5432/postgres?sslmode=require',
  'postgres://postgres:postgres@127.0.0.1:5432/postgres?sslmode=disable',
  'mysql://root:root@localhost:3306/mysql',
  'mongodb+srv://admin:admin@cluster0.mongodb.net/admin?retryWrites=true&w=majority',
  'redis://default:default@localhost:6379/0',
  'amqp://guest:guest@localhost:5672/',
  'DefaultEndpointsProtocol=https;AccountName=;AccountKey=;EndpointSuffix=core.windows.net',
  'Server=tcp:database.windows.net,1433;Initial Catalog=;Persist Security Info=False;User ID=',
  'MultipleActiveResultSets=False;Encrypt=True;TrustServerCertificate=False;Connection Timeout=30;',
  'https://hooks.slack.com/services/',
  'https://discord.com/api/webhooks/',
  'aws_access_key_id aws_secret_access_key aws_session_token region us-east-1 output json',
  'apiVersion: v1 clusters: cluster: certificate-authority-data: server: https://',
  'client-certificate-data: client-key-data: contexts: context: current-context: kind: Config',
].map((phrase) => toSymbols(Buffer.from(phrase), false));
const phraseHashes = new Set(
  stockPhrases.flatMap((phrase) => [
    ...symbolHashes(phrase, hashedSymbols).subarray(hashedSymbols),
  ]),
);

/** Whether symbols with this hash are part of a stock phrase. */
export const isStockPhrase = (hash: number): boolean => phraseHashes.has(hash);

/** The least share of common pairs; a quarter of random pairs are common. */
const commonShare = 0.7;
const digitsShare = 0.4;

/** Whether `text[from, to)` looks like words, with at most one number. */
export function isWordlike(text: Uint8Array, from: number, to: number): boolean {
  let pairs = 0;
  let common = 0;
  let letters = 0;
  let runs = 0;
  for (let at = from; at < to; at += 1) {
    const symbol = text[at] ?? 0;
    const isLetter = symbol >= letterFirst && symbol <= letterLast;
    const before = at > from ? (text[at - 1] ?? 0) : 0;
    const afterLetter = before >= letterFirst && before <= letterLast;
    if (at > from && isLetter !== afterLetter) runs += 1;
    if (!isLetter) continue;
    letters += 1;
    if (!afterLetter) continue;
    pairs += 1;
    if (commonPairs.has(pairOf(before, symbol))) common += 1;
  }
  const length = to - from;
  if (letters < length * (1 - digitsShare) || runs > 2) return false;
  return pairs > 0 && common >= pairs * commonShare;
}

const fewSymbols = 4;

/** Whether `text[from, to)` has hardly any different symbols, as padding and tables do. */
export function isMonotonous(text: Uint8Array, from: number, to: number): boolean {
  const seen: number[] = [];
  for (let at = from; at < to; at += 1) {
    const symbol = text[at] ?? 0;
    if (seen.includes(symbol)) continue;
    if (seen.length === fewSymbols) return false;
    seen.push(symbol);
  }
  return true;
}
