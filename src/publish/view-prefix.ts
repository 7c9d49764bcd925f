/**
 * What tools write before a line of text: line numbers, `grep`'s file names, time stamps and what
 * follows them in logs, marks of diffs, quotations and comments. A prefix of no known form is what
 * three neighbouring lines begin with, any digit equal to any other, up to the last separator.
 */

/** `12:` `12-` `12 | ` `12)` of grep, editors and compilers; `  12<tab>` of cat -n and nl. */
const number = /[ \t]*\d{1,7}(?:[:|=)\].-]|[ ][|│:](?= |$)|[ \t])/y;
/** `src/a.ts:12:` `a.py-12-` `src/a.ts:` `a.c:12:34:` of grep and its like. */
const file =
  /[ \t]*(?:\.{0,2}\/)?(?:[\w.@~+-]+\/)*[\w@~+-][\w.@~+-]*(?:\/|\.\w{1,8}):(?:\d+:){0,2}/y;
const fileContext = /[ \t]*(?:\.{0,2}\/)?(?:[\w.@~+-]+\/)*[\w@~+.-]*?\.\w{1,8}-\d+-/y;
/** A file without an extension, with a line number. */
const fileLine = /[ \t]*[\w./@~+-]+:\d+:(?:\d+:)?/y;

const months = 'Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec';
const clock = String.raw`\d\d?:\d\d(?::\d\d)?(?:[.,]\d{1,9})?`;
const zone = String.raw`(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?(?: ?[AP]M)?`;
const stamps = [
  // ISO 8601 and its relatives, with or without the time of day.
  String.raw`\d{4}[-/.]\d\d?[-/.]\d\d?(?:[T _]${clock}${zone})?`,
  String.raw`\d\d?[-/.](?:\d\d?|${months})[-/.]\d{2,4}(?:[ :T]${clock}${zone})?`,
  // syslog and `date`.
  String.raw`(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +)?(?:${months}) +\d\d?,? +(?:\d{4} +)?${clock}` +
    String.raw`${zone}(?: +[A-Z]{3,4})?(?: +\d{4})?`,
  // klog: `I0102 15:04:05.123456   12345 file.go:12] `.
  String.raw`[IWEFDV]\d{4} ${clock}(?: +\d+)?(?: +[\w./-]+:\d+\])?`,
  String.raw`\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?${zone}`,
  // Seconds, also since the epoch, as dmesg and `ts -s` write them.
  String.raw`\d{9,13}(?:\.\d{1,9})?(?=[ \t:|\]])`,
  String.raw`\d{1,9}\.\d{3,9}(?:s|ms)?(?=[ \t:|\]])`,
];
const stamp = new RegExp(
  String.raw`[ \t]*(?:${stamps.join('|')})[:|,;>]?(?: (?:stdout|stderr) [FP](?= |$))?`,
  'y',
);
/** `[12:03:04]`, `[pid 12]`, `[info]`, `<14>1`. */
const bracket = /[ \t]*(?:\[[^\][\n]{1,60}\]|<\d{1,3}>\d?)[:|]?/y;
const levels = 'TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|FATAL|CRIT(?:ICAL)?|LOG|VERBOSE';
const level = new RegExp(String.raw`[ \t]*(?:${levels}|info|debug|warn|error)\b[:|\]]?`, 'y');
/** `[INFO]`, `[pid 12]`, `[main]`, `[3]`: certainly from a log. */
const tag = new RegExp(
  String.raw`[ \t]*(?:##)?\[(?:${levels}|info|debug|warn|error|main|\w+[ =-]\d+|[\d:., TZ-]+)\]` +
    String.raw`[:|]?`,
  'y',
);
/** A separator between the parts that loggers write. */
const dash = /[ \t]*[|>:-](?=[ \t])/y;
/** docker compose, foreman, concurrently: `web-1  | `. */
const column = /[ \t]*[\w.@/-]{1,60}(?: *\|| {1,20}│)/y;
/** After a time stamp: `host program[12]: `, `program: `, `name - `, `12345 `. */
const origin = /[ \t]*[\w.@/-]{1,80}(?: [\w.@/()-]{1,60})?(?:\[\d+\])?(?::(?=[ \t]|$)| - | \| )/y;
/** `host program[12]: `. */
const program = /[ \t]*(?:[\w.@-]+ )?[\w.@/-]+\[\d+\]:?[ \t]/y;

const anywhere: readonly RegExp[] = [
  stamp,
  number,
  fileContext,
  file,
  fileLine,
  bracket,
  level,
  column,
];
/** Certainly not part of the line. */
const afterStamp: readonly RegExp[] = [stamp, tag, level, program];
/** Possibly the beginning of the line itself: `name: `. */
const afterStampLoose: readonly RegExp[] = [stamp, bracket, level, program, origin, dash];
/** The name of a program occurs once. */
const afterName: readonly RegExp[] = [tag, level, dash];
const partsMax = 8;

/** The end of the tool's prefix of the line `text[from, to)`; `from`: it has none. */
export function findPrefixEnd(text: string, from: number, to: number): number {
  return endOf(text, from, to, afterStamp);
}

/** The end of the prefix's first part: the line itself can begin with a number or a date, too. */
export function findFirstPrefixEnd(text: string, from: number, to: number): number {
  return endOf(text, from, to, []);
}

/** As {@link findPrefixEnd}, also with the name of a program or a logger after a time stamp. */
export function findLoosePrefixEnd(text: string, from: number, to: number): number {
  return endOf(text, from, to, afterStampLoose);
}

function endOf(text: string, from: number, to: number, after: readonly RegExp[]): number {
  if (!mayHavePrefix(text, from, to)) return from;
  let at = from;
  let stamped = false;
  let named = false;
  for (let read = 0; read < partsMax && at < to; read += 1) {
    const parts: readonly RegExp[] = named ? afterName : stamped ? after : anywhere;
    const part = parts.find((one) => {
      one.lastIndex = at;
      return one.test(text) && one.lastIndex <= to && one.lastIndex > at;
    });
    if (part === undefined) return at;
    at = part.lastIndex;
    stamped ||= part === stamp || part === bracket || part === column;
    // After one line number, or one file name with a line number, the line follows.
    if (!stamped) return at;
    if (part === origin || part === program) named = true;
  }
  return at;
}

/** Nearly all prefixes begin with a digit, a bracket or a name; code mostly begins with a blank. */
function mayHavePrefix(text: string, from: number, to: number): boolean {
  let at = from;
  while (at < to && (text[at] === ' ' || text[at] === '\t')) at += 1;
  if (at === to) return false;
  const code = text.charCodeAt(at);
  const digit = code >= 0x30 && code <= 0x39;
  // Deep indentation comes only before line numbers.
  if (at - from > 8 || (at > from && text[from] === '\t')) return digit;
  if (digit || code === 0x5b || code === 0x3c) return true;
  return /[:|│\]]|-\d+-/.test(text.slice(at, Math.min(to, at + 160)));
}

/** The column that `diff` adds to a line, or two columns for a merge. */
const diffMark = /(?:[+-]{1,2}|[<>] |[|!] )/y;

/** The end of a diff mark; `from`: there is none. */
export function findDiffMarkEnd(text: string, from: number, to: number): number {
  diffMark.lastIndex = from;
  return diffMark.test(text) && diffMark.lastIndex <= to ? diffMark.lastIndex : from;
}

/** One mark: of a diff, a quotation, a comment, a table, a prompt. */
const marks = [
  String.raw`[+-]{1,2}(?![+-])|>>> |\.\.\. |>(?: ?>){0,3}|<(?![\w/!])|--|\||!|│|@|~|=|\$ `,
  String.raw`<!--|\/\*\*?|\/{2,4}!?|#{1,4}|\*{1,2}(?=\s)|\*(?!\w)|;{1,3}|%{1,2}|rem |REM |dnl `,
];
const marker = new RegExp(String.raw`[ \t]*(?:${marks.join('|')})`, 'y');

/** The end of the line's first mark; `from`: there is none. */
export function findMarkerEnd(text: string, from: number, to: number): number {
  marker.lastIndex = from;
  return marker.test(text) && marker.lastIndex <= to ? marker.lastIndex : from;
}

/** The end of the last of several marks: `> + // text`. */
export function findMarkersEnd(text: string, from: number, to: number): number {
  let at = findMarkerEnd(text, from, to);
  for (let more = 0; more < 3; more += 1) {
    const next = findMarkerEnd(text, at, to);
    if (next === at) break;
    at = next;
  }
  return at;
}

const prefixCharsMax = 160;

/**
 * The start of each line after the prefix that it shares with its neighbours; `known`: the start
 * after a recognised prefix. A shared prefix counts only if it looks like a tool's: it has a digit,
 * a bracket, a colon or a bar, or follows a recognised prefix.
 */
export function findSharedPrefixes(
  text: string,
  lines: readonly number[],
  known: readonly number[],
): number[] {
  const count = known.length;
  const common = Array.from({ length: count }, () => 0);
  for (let i = 0; i + 1 < count; i += 1) {
    common[i] = commonChars(text, lines, known, i);
  }
  const inner = known.map((_, i) => Math.min(common[i - 1] ?? 0, common[i] ?? 0));
  return known.map((from, i) => {
    // At the edge of a block, the line within shows what all lines share.
    const own = inner[i] ?? 0;
    const after = sharedWithNeighbour(common[i], inner[i + 1]);
    const chars = own > 0 ? own : Math.max(after, sharedWithNeighbour(common[i - 1], inner[i - 1]));
    if (chars < 3) return from;
    const recognised = from !== lines[i];
    const end = from + chars;
    return recognised || /[\d[\]:|]/.test(text.slice(from, end)) ? end : from;
  });
}

/** What a line shares with a neighbour, of which the neighbour shares `within` with all. */
function sharedWithNeighbour(common = 0, within = 0): number {
  return within > 0 ? Math.min(common, within) : common;
}

/** What line `i` and the next share after their known prefixes, up to a separator. */
function commonChars(
  text: string,
  lines: readonly number[],
  known: readonly number[],
  i: number,
): number {
  const from = known[i] ?? 0;
  const next = known[i + 1] ?? 0;
  const limit = Math.min(next - from, (lines[i + 2] ?? next) - next, prefixCharsMax);
  let end = 0;
  for (let at = 0; at < limit; at += 1) {
    const one = text.charCodeAt(from + at);
    const two = text.charCodeAt(next + at);
    if (one !== two && !(isDigit(one) && isDigit(two))) break;
    if (isSeparator(one)) end = at + 1;
  }
  return end;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Blank, tab, `]`, `|`, `:`, `>`. */
function isSeparator(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x5d || code === 0x7c || code === 0x3a;
}
