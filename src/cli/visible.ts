/** Text of others, shown so that it looks like what it is. */

/**
 * Controls, format characters (what reorders text, joiners, tags), what is not assigned or private,
 * what is drawn as nothing, and spaces other than the plain one.
 */
const hidden = new RegExp(
  [
    String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]`,
    String.raw`[\p{Default_Ignorable_Code_Point}\u2800]`,
    String.raw`(?! )\p{Zs}`,
  ].join('|'),
  'gu',
);

/** Every hidden character as `\u{202E}`; line ends too. */
export function visible(text: string, mark: (escape: string) => string = (each) => each): string {
  return text.replaceAll(hidden, (found) =>
    mark(`\\u{${(found.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`),
  );
}

/**
 * The lines of `text`, escaped, each behind a bar, none longer than `columns`: text that the
 * terminal wrapped by itself could pass for a line of this program.
 */
export function barred(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) =>
    wrap(visible(line), Math.max(20, columns - 4)).map((part, at) => {
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
