/** The families of tokens that are no secret, and lines whose form says what their tokens are. */
import { isAlphanumeric } from '../rules/token-bounds.ts';

/**
 * What a token is if it is no secret. `certain`: its form or a label beside it says so. `usual`:
 * the form of a hash or an identifier, which a key can have, too; a name such as `API_TOKEN` beside
 * it overrides it.
 */
export const benignFamilies = {
  placeholder: 'certain',
  reference: 'certain',
  hidden: 'certain',
  'git-object': 'certain',
  'git-line': 'certain',
  'digest-labelled': 'certain',
  'digest-list': 'certain',
  'digest-prefixed': 'certain',
  integrity: 'certain',
  'go-sum': 'certain',
  'header-id': 'certain',
  'labelled-id': 'certain',
  arn: 'certain',
  'cloud-id': 'certain',
  'content-id': 'certain',
  package: 'certain',
  'mangled-symbol': 'certain',
  'symbol-line': 'certain',
  'hex-dump': 'certain',
  'byte-list': 'certain',
  certificate: 'certain',
  'public-key': 'certain',
  'key-fingerprint': 'certain',
  'source-map': 'certain',
  'data-uri': 'certain',
  'media-bytes': 'certain',
  'hashed-file-name': 'certain',
  'pod-name': 'certain',
  'path-hash': 'certain',
  'stack-frame': 'certain',
  'cpu-flags': 'certain',
  'terminal-codes': 'certain',
  version: 'certain',
  timestamp: 'certain',
  'ip-address': 'certain',
  'mac-address': 'certain',
  number: 'certain',
  address: 'certain',
  url: 'usual',
  path: 'usual',
  identifier: 'usual',
  uuid: 'usual',
  ulid: 'usual',
  'sortable-id': 'usual',
  'hex-digest': 'usual',
  'hex-id': 'usual',
  'base64-line': 'usual',
  'base64-tail': 'usual',
  'compound-key': 'usual',
} as const satisfies Record<string, 'certain' | 'usual'>;

export type BenignFamily = keyof typeof benignFamilies;

export function strengthOf(family: BenignFamily): 'certain' | 'usual' {
  return benignFamilies[family];
}

export interface LineSpan {
  readonly start: number;
  readonly end: number;
}

type Form = readonly [RegExp, BenignFamily];

/** Lines whose form decides for every token on them. */
const wholeLineForms: readonly Form[] = [
  // 00000320: 642d 6c69 …, 0000320 72 54 4d …, 00000d00  32 36 00 …
  [/^[ \t]*(?:0x)?[0-9a-fA-F]{6,16}:?[ \t]+(?:[0-9a-fA-F]{2,8}[ \t]+){3}/, 'hex-dump'],
  [/^[ \t]*[0-9a-fA-F]{1,16}:[ \t]+(?:[0-9a-f]{2} ){1,15}/, 'hex-dump'],
  [/^[ \t]*(?:[0-9a-fA-F]{2}:){3}/, 'byte-list'],
  [/^[ \t]*0x[0-9a-f]{4,16}:?[ \t]+(?:0x[0-9a-f]{2,16}[ \t]+){2}/, 'hex-dump'],
];

/** CPU features. */
const capabilities: readonly Form[] = [[/^(?:flags|Features|bugs|vmx flags)[ \t]*:/, 'cpu-flags']];

/** Capabilities of terminals and the colours of `ls`. */
const terminal: readonly Form[] = [
  [/^(?:export )?LS_COLORS=/, 'terminal-codes'],
  [/^\t[^\n]{0,80}[a-z0-9]{2,6}=\\E/, 'terminal-codes'],
];

/** Lines whose form decides for a hash or an address on them. */
const hex: readonly Form[] = [
  // nm, readelf --symbols, objdump -t and -d
  [/^(?:[0-9a-f]{8,16} ){1,2}[A-Za-z?] \S/, 'symbol-line'],
  [/^[ ]*[0-9]+: [0-9a-f]{8,16} +[0-9a-fx]+ [A-Z]{3,8} /, 'symbol-line'],
  [/^[ ]*[0-9a-f]{8,16} (?:<|[lgu!w ][w ]?[C ]?[WIi ]?[dD ]?[FfO ]? )/, 'symbol-line'],
  // sha256sum, md5sum, BSD sums, git
  [/^\\?[0-9a-f]{32,128} [ *]\S/, 'digest-list'],
  [/^(?:SHA-?(?:1|224|256|384|512)|MD5|BLAKE2\w*)[ :(]/i, 'digest-list'],
  [/^[0-9a-f]{40,64}(?:\s[0-9a-f]{40,64}){0,9}\s+(?:refs|HEAD|commit|tree|blob|tag)/, 'git-line'],
  [/^[0-7]{6} (?:blob|tree|commit|[0-9a-f]{40,64}) /, 'git-line'],
  [/^:[0-7]{6} [0-7]{6} [0-9a-f]{7,64} [0-9a-f]{7,64} [A-Z]/, 'git-line'],
  [/^[ \t]*(?:index|similarity index) [0-9a-f]{7,64}(?:\.\.|,)[0-9a-f]{7,64}/, 'git-line'],
  [/^[|\\/_* \t]{0,40}(?:commit |[a-f0-9]{7,40} )[(a-zA-Z0-9]/, 'git-line'],
  [
    /^(?:tree|parent|object|Merge:?|From|author|committer|[a-z]+ commit) [0-9a-f]{7,64}/,
    'git-line',
  ],
];

/** Headers whose value identifies a request, a response or a hop. */
const headers = `
  x-amz-(?:id-2|request-id|cf-id|cf-pop|version-id|apigw-id) cf-ray (?:last-modified-)?etag
  if-none-match if-match (?:x-|fly-|cf-|apigw-)?(?:request|trace|correlation|span)-?id
  traceparent tracestate x-b3-\\w+ x-cache\\S{0,20} x-served-by x-timer via age date
  x-github-\\S{1,30} x-vercel-id x-nf-request-id x-ms-\\S{0,30}request-id request-context
  content-md5 content-digest digest repr-digest x-goog-hash x-goog-generation report-to nel
  alt-svc content-security-policy\\S{0,20} server-timing x-runtime x-envoy-\\S{1,40}
  x-cloud-trace-context x-amzn-\\S{1,40} expect-ct docker-content-digest x-oss-request-id
  x-oss-hash\\S{0,20} x-cos-\\S{1,30} x-guploader-uploadid x-fastly-request-id
  x-akamai-\\S{1,40} x-datadog-(?:trace|parent)-id lambda-\\S{0,20}request-id`;

const httpId = new RegExp(`^(?:${headers.trim().split(/\s+/).join('|')})"?[ \\t]*[:=]`, 'i');

/** The part of a line whose form is examined. */
const lineMax = 200;

/** The family of every token on the line, by its form; `null`: unknown. */
export function familyOfLine(text: string, line: LineSpan): BenignFamily | null {
  const first = firstOf(text, line);
  const code = text.charCodeAt(first);
  if (isHexDigit(code)) {
    const form = formOf(wholeLineForms, text, line);
    if (form !== null) return form;
  }
  if (code === 0x66 || code === 0x62 || code === 0x46 || code === 0x76) {
    const form = formOf(capabilities, text, line);
    if (form !== null) return form;
  }
  if (first > line.start || code === 0x4c || code === 0x65) {
    const form = formOf(terminal, text, line);
    if (form !== null) return form;
  }
  return isHeaderId(text, line) ? 'header-id' : null;
}

/** The family of a hash on the line, by its form. */
export function familyOfHexLine(text: string, line: LineSpan): BenignFamily | null {
  return formOf(hex, text, line);
}

function formOf(
  forms: readonly Form[],
  text: string,
  { start, end }: LineSpan,
): BenignFamily | null {
  const line = text.slice(start, Math.min(end, start + lineMax));
  for (const [form, family] of forms) if (form.test(line)) return family;
  return null;
}

/** The offset of the first character that is no blank. */
function firstOf(text: string, { start, end }: LineSpan): number {
  let at = start;
  while (at < end && (text.charCodeAt(at) === 0x20 || text.charCodeAt(at) === 0x09)) at += 1;
  return at;
}

function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}

/** Whether the line is a header of `httpId`, after the prefixes of `curl -v` and loggers. */
function isHeaderId(text: string, { start, end }: LineSpan): boolean {
  let at = start;
  const most = Math.min(end, start + 5);
  while (at < most && '<>*+ \t-"'.includes(text.charAt(at))) at += 1;
  const last = Math.min(end, at + 48);
  let stop = at;
  while (stop < last && isNameCharacter(text.charCodeAt(stop))) stop += 1;
  if (stop - at < 3 || stop === end) return false;
  const code = text.charCodeAt(stop);
  if (code !== 0x3a && code !== 0x3d && code !== 0x22 && code !== 0x20) return false;
  return httpId.test(text.slice(at, Math.min(end, stop + 4)));
}

function isNameCharacter(code: number): boolean {
  return code === 0x2d || isAlphanumeric(code);
}
