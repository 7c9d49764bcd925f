/** An argument list as shell text. */

const plain = /^[A-Za-z0-9_@%+:,./-]+$/;
/** Words that a shell reads as grammar where a command's name stands, unless they are quoted. */
const reserved: ReadonlySet<string> = new Set(
  (
    'case coproc do done elif else end esac fi for foreach function if in nocorrect repeat ' +
    'select then time until while'
  ).split(' '),
);

/** `word` in a form that every POSIX shell reads as exactly these characters. */
export function quoteWord(word: string): string {
  return plain.test(word) && !reserved.has(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Shell text that runs exactly these words: nothing in them is expanded. */
export function quoteArgv(argv: readonly string[]): string {
  return argv.map(quoteWord).join(' ');
}

/**
 * The command of words given on the command line: one is shell text as it is, several are an
 * argument list.
 */
export function commandText(words: readonly string[]): string {
  const [only = ''] = words;
  return words.length === 1 ? only : quoteArgv(words);
}
