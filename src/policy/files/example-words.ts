/** Examples of rules as argument lists. */

/** What is the same in every shell, with single spaces between: no quotes, no expansion. */
const plainWord = /^[\w@%+:,./=-]+$/;

/**
 * The words of an example: a list as it stands, a text cut at its spaces. `null` where the text
 * holds what a shell would read.
 */
export function exampleWords(example: string | readonly string[]): readonly string[] | null {
  if (typeof example !== 'string') return example;
  const words = example.split(/ +/).filter((word) => word !== '');
  return words.every((word) => plainWord.test(word)) ? words : null;
}
