/** Patterns of users, matched in linear time. */
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { TrlError } from '../../errors.ts';
import type { SecretFinding } from '../secret-finding.ts';

export interface UserRule {
  /** Shown with each redaction. */
  readonly id: string;
  /** RE2 syntax. The match of the first group is hidden, or the whole match if there is none. */
  readonly pattern: string;
  /** Literals, one of which must be in a line, in any case; default: every line is searched. */
  readonly keywords?: readonly string[];
}

/** Finds keys in `text[from, to)`: sorted findings, each within one line. */
export interface UserRuleFinder {
  find(text: string, bytes: Uint8Array, from: number, to: number): SecretFinding[];
}

/** Only the first characters of a longer line are searched: such patterns run at some 2 MB/s. */
const lineMax = 8 * 1024;
const rulesMax = 100;
const patternMax = 1000;
const matchesMax = 100;

/** @throws TrlError `INVALID_PARAMS`: too many, too long, or not RE2, with the reason */
export function compileUserRules(list: readonly UserRule[]): UserRuleFinder {
  if (list.length > rulesMax) {
    throw invalid('list', `at most ${rulesMax} are allowed, found ${list.length}`);
  }
  const compiled = list.map((rule) => ({
    id: rule.id,
    pattern: compile(rule),
    keywords: (rule.keywords ?? []).map((keyword) => keyword.toLowerCase()),
  }));
  return {
    find(text, _bytes, from, to) {
      const found: SecretFinding[] = [];
      for (let start = from; start < to;) {
        const newline = text.indexOf('\n', start);
        const end = newline < 0 || newline >= to ? to : newline;
        if (compiled.length > 0) findInLine(text, start, end, { compiled, found });
        start = end + 1;
      }
      return found;
    },
  };
}

interface CompiledPattern {
  readonly id: string;
  readonly pattern: RE2JS;
  readonly keywords: readonly string[];
}

interface Work {
  readonly compiled: readonly CompiledPattern[];
  readonly found: SecretFinding[];
}

function findInLine(text: string, start: number, end: number, { compiled, found }: Work): void {
  const line = text.slice(start, Math.min(end, start + lineMax));
  const folded = compiled.some(({ keywords }) => keywords.length > 0) ? line.toLowerCase() : '';
  const here: SecretFinding[] = [];
  for (const { id, pattern, keywords } of compiled) {
    const named = keywords.find((keyword) => folded.includes(keyword));
    if (keywords.length > 0 && named === undefined) continue;
    const matcher = pattern.matcher(line);
    for (let count = 0; count < matchesMax && matcher.find(); count += 1) {
      const group = matcher.groupCount() > 0 && matcher.start(1) >= 0 ? 1 : 0;
      const [from, to] = [matcher.start(group), matcher.end(group)];
      if (to <= from) continue;
      here.push({ ...whole, rule: id, start: start + from, end: start + to, key: named ?? null });
    }
  }
  here.sort((one, other) => one.start - other.start || other.end - one.end);
  for (const finding of here) {
    const last = found.at(-1);
    if (last === undefined || finding.start >= last.end) found.push(finding);
    else if (finding.end > last.end) found.splice(-1, 1, { ...last, end: finding.end });
  }
}

const whole = { kind: 'format', score: 0.99 } as const;

function compile({ id, pattern }: UserRule): RE2JS {
  if (id === '') throw invalid(pattern, 'the id is empty');
  if (pattern.length > patternMax) throw invalid(id, `longer than ${patternMax} characters`);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern);
  } catch (cause) {
    if (!(cause instanceof RE2JSSyntaxException)) throw cause;
    throw invalid(id, `${cause.getDescription()} at "${cause.getPattern() ?? ''}"`, cause);
  }
  if (compiled.matches('')) throw invalid(id, 'it matches the empty text, so every place');
  return compiled;
}

function invalid(id: string, reason: string, cause?: unknown): TrlError {
  const message = `Cannot use the redaction pattern "${id}": ${reason}`;
  return new TrlError('INVALID_PARAMS', message, cause === undefined ? {} : { cause });
}
