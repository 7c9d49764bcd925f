/**
 * Words of a tool's command. `{input.name}` is replaced by an argument of the call, `{{` and `}}`
 * by braces. An argument stays within its word, whatever it contains: no shell reads it. Pure.
 */
import { TrlError } from '../errors.ts';

/** A text in parts: literal, or the argument that is inserted. */
export type ToolTemplate = readonly (string | { readonly input: string })[];

/** A word, or words that stay or go together. */
export type ToolCommandWord = string | readonly string[];

const argumentBytesMax = 128 * 1024;
const piece = /\{\{|\}\}|\{input\.([A-Za-z_][A-Za-z0-9_-]{0,63})\}|[{}]/g;

/** @throws Error with a clause that says what is wrong */
export function parseToolTemplate(text: string): ToolTemplate {
  const found: (string | { input: string })[] = [];
  let at = 0;
  let literal = '';
  for (const match of text.matchAll(piece)) {
    literal += text.slice(at, match.index);
    at = match.index + match[0].length;
    const name = match[1];
    if (name !== undefined) {
      if (literal !== '') found.push(literal);
      found.push({ input: name });
      literal = '';
    } else if (match[0].length === 2) literal += match[0].slice(1);
    else throw new Error(`"${match[0]}" stands alone: write {input.NAME}, or double it`);
  }
  literal += text.slice(at);
  return literal === '' && found.length > 0 ? found : [...found, literal];
}

/** Names of the arguments in a text. */
export const templateInputNames = (template: ToolTemplate): string[] =>
  template.flatMap((part) => (typeof part === 'string' ? [] : [part.input]));

type ToolArguments = Readonly<Record<string, unknown>>;

/** The text with its arguments inserted; `null` if one is missing. */
export function fillTemplate(template: ToolTemplate, given: ToolArguments): string | null {
  if (templateInputNames(template).some((name) => !Object.hasOwn(given, name))) return null;
  return template
    .map((part) => (typeof part === 'string' ? part : shown(given[part.input])))
    .join('');
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

/**
 * The words of a command. One whose optional argument was not given is left out, with all that are
 * in a list with it.
 *
 * @throws TrlError `INVALID_PARAMS` for an argument that no word can hold, or that would be taken
 *   for an option: one that begins with "-" at the start of a word, before a literal "--"
 */
export function fillToolCommand(
  tool: string,
  words: readonly ToolCommandWord[],
  given: ToolArguments,
): string[] {
  const made: string[] = [];
  for (const group of words) {
    const texts = typeof group === 'string' ? [group] : group;
    const templates = texts.map(parseToolTemplate);
    const full = templates.map((one) => fillTemplate(one, given));
    const present = full.filter((one) => one !== null);
    if (present.length < full.length) continue;
    for (const [at, word] of present.entries()) {
      const first = templates[at]?.[0];
      refuse(tool, word, typeof first === 'object' && !made.includes('--') ? first.input : null);
      made.push(word);
    }
  }
  return made;
}

function refuse(tool: string, word: string, leading: string | null): void {
  const fail = (why: string): never => {
    throw new TrlError('INVALID_PARAMS', `Cannot call the tool "${tool}": ${why}`);
  };
  if (word.includes('\0')) fail('an argument holds the character NUL');
  if (Buffer.byteLength(word) > argumentBytesMax) {
    fail(`an argument is over ${argumentBytesMax} bytes`);
  }
  if (leading !== null && word.startsWith('-')) {
    fail(`"${leading}" begins with "-", and the program would take it for an option`);
  }
}
