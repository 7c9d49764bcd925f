/** Text of others, shown so that it looks like what it is. */
import { unicodeEscape, replaceHiddenCharacters } from '../hidden-characters.ts';

/** Every hidden character as `\u{202E}`; line ends too. */
export function escapeHiddenText(
  text: string,
  mark: (escape: string) => string = (each) => each,
): string {
  return replaceHiddenCharacters(text, (found) => mark(unicodeEscape(found)));
}

/**
 * The lines of `text`, escaped, each behind a bar, none longer than `columns`: text that the
 * terminal wrapped by itself could pass for a line of this program.
 */
export function quoteLines(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) =>
    wrap(escapeHiddenText(line), Math.max(20, columns - 4)).map((part, at) => {
      return `${at === 0 ? '  │ ' : '  ┆ '}${part}`;
    }),
  );
}

/** Whatever is not ASCII may be two cells wide, so it is taken to be. */
function wrap(line: string, width: number): string[] {
  const parts: string[] = [];
  let part = '';
  let cells = 0;
  for (const character of line) {
    const wide = character >= ' ' && character <= '~' ? 1 : 2;
    if (cells + wide > width) {
      parts.push(part);
      part = '';
      cells = 0;
    }
    part += character;
    cells += wide;
  }
  return [...parts, part];
}
