/**
 * What of a value with several lines must be hidden when it is printed alone: `hunter2-dragon` of
 * `host=db\npassword=hunter2-dragon`. Pure.
 */
import { isBenignName, isSecretLikeName } from './name-words.ts';
import { isPathText } from './path-form.ts';

/** Of one value: each counts as a value in use, and long random lines are found without. */
const linesMax = 32;
/** Letters and digits that a masked value has at least. */
const symbolsMin = 6;
/** Lines as of a key file: any part of them is found as a part of the whole. */
const encodedLine = /^(?=.*[0-9+/])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9+/=_-]{32,}$/;
/** What encloses or explains: `-----BEGIN …`, `[default]`, `# comment`. */
const boilerplate = /^(?:-{5}.*|\[[\w .-]*\]|#(?:\s.*)?|\/\/\s.*)$/;
/** A word that appears in ordinary output, too: `service_account` is two. */
const oneWord = /^[A-Za-z]{1,16}[:;,.]?$/;
const publicForm = /^(?:true|false|null|none|[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|local))$/i;
const field = /^\s*(?:export\s+)?["']?([A-Za-z_][\w .-]{0,63}?)["']?\s*(?:=>|[=:])\s*(\S.*)$/;

/** Each once, in their order; empty for a value of one line. */
export function secretLines(value: string): readonly string[] {
  if (!/[\r\n]/.test(value.trim())) return [];
  const found = new Set<string>();
  for (const line of value.split(/[\r\n]+/)) {
    const part = secretOf(line.trim());
    if (part !== null) found.add(part);
    if (found.size === linesMax) break;
  }
  return [...found];
}

function secretOf(line: string): string | null {
  if (boilerplate.test(line)) return null;
  const [, name, rest] = field.exec(line) ?? [];
  if (name === undefined || rest === undefined) return isTelling(line) ? line : null;
  if (isBenignName(name)) return null;
  const given = rest.replace(/[,;]$/, '').replace(/^(["'])(.*)\1$/, '$2');
  if (isSecretLikeName(name)) return symbolsOf(given) < symbolsMin ? null : given;
  return isTelling(given) ? given : null;
}

/** Whether it can be masked, and is not what ordinary output has. */
function isTelling(text: string): boolean {
  if (symbolsOf(text) < symbolsMin || encodedLine.test(text)) return false;
  return !oneWord.test(text) && !publicForm.test(text) && !isPathText(text);
}

const symbolsOf = (text: string): number => text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
