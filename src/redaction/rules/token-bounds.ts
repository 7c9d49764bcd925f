/** Where tokens can begin, and which are only words or examples. */

/** Whether a token can begin at `at`: not within a word. An escape before it does not count. */
export function canTokenBeginAt(text: string, at: number): boolean {
  if (at === 0 || !isAlphanumeric(text.charCodeAt(at - 1))) return true;
  if (!isAlphanumeric(text.charCodeAt(at))) return true;
  const back = (count: number): string => text.charAt(at - count);
  if (back(2) === '\\') return 'nrtbf'.includes(back(1)) && back(3) !== '\\';
  if (back(3) === '%') return /^[0-9A-F]{2}$/.test(text.slice(at - 2, at));
  if (back(6) === '\\') return /^u[0-9a-fA-F]{4}$/.test(text.slice(at - 5, at));
  return back(1) === 'm' && /\[[0-9;]{0,9}m$/.test(text.slice(Math.max(0, at - 11), at));
}

/** The start of the run at `at` after an escape whose end it contains. */
export function skipEscapeRest(text: string, at: number): number {
  const before = at === 0 ? '' : text.charAt(at - 1);
  if (before !== '\\' && before !== '[' && before !== '%') return at;
  const around = text.slice(at - 1, at + 11);
  const escape = /^(?:\\u[0-9a-fA-F]{4}|\\[nrtbf]|\[[0-9;]{0,9}m|%[0-9A-F]{2})/.exec(around);
  return escape === null ? at : at - 1 + escape[0].length;
}

export function isAlphanumeric(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a);
}

const exampleMark =
  /x{5}|\*{3}|\.{3}|0{12}|example|placeholder|your[-_]|change_?me|redacted|dummy|insert|hidden/i;

/** `AKIAIOSFODNN7EXAMPLE`, `xxxxxxxx`, `your-token-here`: examples in documents. */
export function isExampleToken(secret: string): boolean {
  if (exampleMark.test(secret)) return true;
  return secret.length >= 12 && new Set(secret).size < 5;
}

/** `path-to-thing`, `max_retries_3`: only words and short numbers, so not random. */
export function isMadeOfWords(body: string): boolean {
  for (const part of body.split(/[^A-Za-z0-9]+/)) {
    if (/^[0-9]*$/.test(part) ? part.length > 4 : !isWord(part)) return false;
  }
  return true;
}

/** Letters in the number and case of a word or an identifier. */
function isWord(part: string): boolean {
  const letters = /^[0-9]?([A-Za-z]+)[0-9]{0,2}$/.exec(part)?.[1];
  if (letters === undefined) return false;
  if (/^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+)$/.test(letters)) return letters.length <= 15;
  const humps = letters.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? [];
  return letters.length <= 32 && letters.length >= 4 * humps.length;
}
