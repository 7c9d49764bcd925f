/** Which symbols are plain words, or hardly anything: they stand in texts that hold no secret. */
import { hashedSymbols } from './value-forms.ts';
import { symbolHashes, toSymbols } from './symbols.ts';

const letterFirst = 11;
const letterLast = 36;

/** Pairs of letters that make up most of English, of names in code and of addresses. */
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

/** What many secrets hold and many texts, too, as symbols. */
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

/** Whether the symbols of this hash stand in a phrase that many texts hold. */
export const isStockPhrase = (hash: number): boolean => phraseHashes.has(hash);

/** The share of pairs that must be common ones: a quarter of random pairs are. */
const commonShare = 0.7;
const digitsShare = 0.4;

/** Whether `text[from, to)` reads as words, with a number in it at most. */
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

/** Whether hardly any different symbols make up `text[from, to)`: padding and tables do, too. */
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
