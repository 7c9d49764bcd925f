/** The name before a token, and whether it says that the token is no secret. */
import { isAlphanumeric } from '../rules/token-bounds.ts';

const nameMax = 40;
/** Between name and token: quotes, brackets and the backslashes of escaped quotes. */
const opening = new Set('"\'`\\[({<'.split('').map((sign) => sign.charCodeAt(0)));

/** Last parts of names for hashes, identifiers and places. */
const plain = new Set(
  `addr address ami arn at base baseline between blob block branch bucket build buildid chainid
  checksum checksums cherry chunk chunkhash cluster commit container contenthash correlation
  correlationid crc crc32 cursor deployment device diffid digest digests eni etag exponent
  file filename fingerprint from guid hash hashes head host hostname id ids image imageid
  index instance integrity into issuer job keyid kid label layer layers machine mappings md5
  md5sum merge module modulus name names node object oid onto origin parent parentid path
  picked pipeline pod ray ref refs region release request requestid resolved resourceversion
  rev revision rootid run selector serial sg sha sha1 sha224 sha256 sha384 sha512 shasum
  signedby slug snapshot sourcemap span spanid subject subnet task thumbprint to trace
  traceid transaction tree tx txid uid uids upstream uri url uuid version vol vpc x5t zone`.split(
    /\s+/,
  ),
);

const hashWords = new Set(
  `at base bisect blob build checkout checksum commit container created deleted detached digest
  etag fingerprint fixes from git gitsha hash head id image index into layer md5 merge
  object onto parent picked pulling pushed request reset rev revert reverts revision sha
  sha1 sha224 sha256 sha384 sha512 span submodule tag to trace tree uid untagged uuid`.split(/\s+/),
);

const secret = new RegExp(
  'secret|passw|pwd|token|api[_-]?key|private|credential|auth|session|cookie|bearer|signing' +
    '|access[_-]?(?:key|id)',
);
const cursor =
  /^(?:next|prev|previous|contin\w{2,6}|page|sync|start|starting|marker|resume)[\w-]*token$/;

export interface TokenLabel {
  /** The last part of the name, lower-case: `sha` of `commitSha`. */
  readonly last: string;
  /** The whole name, lower-case. */
  readonly whole: string;
  /** Whether `=`, `:` or the like is between name and token. */
  readonly assigned: boolean;
}

/** Reads `name: `, `"name": "`, `name=`, `name => '`, `name(`, `name token` from right to left. */
export function readLabelBefore(text: string, start: number, lineStart: number): TokenLabel | null {
  let at = skipOpening(text, start, lineStart);
  at = skipBlanks(text, at, lineStart);
  let assigned = at < start && text.charCodeAt(at) === 0x28;
  let code = at > lineStart ? text.charCodeAt(at - 1) : 0;
  if (code === 0x3e && text.charCodeAt(at - 2) === 0x3d) {
    at -= 2;
    assigned = true;
  } else if (code === 0x3a || code === 0x3d) {
    at -= 1;
    assigned = true;
  } else if (at === start) return null;
  at = skipOpening(text, skipBlanks(text, at, lineStart), lineStart);
  if (at > lineStart && text.charCodeAt(at - 1) === 0x5d) at -= 1;
  const end = skipOpening(text, at, lineStart);
  let begin = end;
  const last = Math.max(lineStart, end - nameMax);
  while (begin > last) {
    code = text.charCodeAt(begin - 1);
    if (!isAlphanumeric(code) && code !== 0x5f && code !== 0x2d && code !== 0x2e) break;
    begin -= 1;
  }
  if (begin === end || text.charCodeAt(begin) <= 0x39) return null;
  const name = text.slice(begin, end);
  return { last: lastPart(name), whole: name.toLowerCase(), assigned };
}

function skipOpening(text: string, from: number, lineStart: number): number {
  let at = from;
  const last = Math.max(lineStart, from - 4);
  while (at > last && opening.has(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

function skipBlanks(text: string, from: number, lineStart: number): number {
  let at = from;
  const last = Math.max(lineStart, from - 16);
  while (at > last && (text.charCodeAt(at - 1) === 0x20 || text.charCodeAt(at - 1) === 0x09)) {
    at -= 1;
  }
  return at;
}

/** `commit 1a2b…`, `requestId=…`, `nextToken: …`; never if the name suggests a secret. */
export function isBenignLabel({ last, whole, assigned }: TokenLabel): boolean {
  if (cursor.test(whole)) return true;
  if (secret.test(whole)) return false;
  return assigned ? plain.has(last) : hashWords.has(last);
}

/** `commitSha` → `sha`, `resource_version` → `version`, `SHA256` → `sha256`. */
function lastPart(name: string): string {
  const parts = /(?:[A-Z]?[a-z]+|[A-Z]+)[0-9]{0,3}$/.exec(name);
  const tail = parts?.[0].toLowerCase() ?? name.toLowerCase();
  if (plain.has(tail) || hashWords.has(tail)) return tail;
  return name.toLowerCase().split(/[_.-]/).at(-1) ?? '';
}
