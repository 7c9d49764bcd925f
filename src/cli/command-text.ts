import { quoteArgv } from '../quote.ts';

/**
 * The command of words given on the command line: one is shell text as it is, several are an
 * argument list.
 */
export function commandText(words: readonly string[]): string {
  const [only = ''] = words;
  return words.length === 1 ? only : quoteArgv(words);
}
