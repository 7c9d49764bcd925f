/** Words as shell text, for any shell of the Bourne family. */

const plain = /^[A-Za-z0-9_@%+:,./-]+$/;
/** Words that a shell reads as grammar where a command's name stands, unless they are quoted. */
const reserved: ReadonlySet<string> = new Set(
  (
    'case coproc do done elif else end esac fi for foreach function if in nocorrect repeat ' +
    'select then time until while'
  ).split(' '),
);

/** In single quotes, whatever it is. */
export const quoteSingle = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** `word` in a form that every POSIX shell reads as exactly these characters. */
export function quoteWord(word: string): string {
  return plain.test(word) && !reserved.has(word) ? word : quoteSingle(word);
}

/** Shell text that runs exactly these words: nothing in them is expanded. */
export function quoteArgv(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ');
}

const tagsShown = 5;

/** Values that are hidden, by the first digits of their tags. */
export function describeReveal(digests: readonly string[]): string {
  const tags = digests.slice(0, tagsShown).map((digest) => `[HIDDEN:${digest.slice(0, 6)}…]`);
  const more = digests.length > tags.length ? ` and ${digests.length - tags.length} more` : '';
  return `what is hidden as ${tags.join(', ')}${more}`;
}
