/**
 * Columns of CSV and TSV files, each as a separate text: `cut` extracts one from all the others.
 */

const named = /\.(csv|tsv|tab)$/i;
const columnsMax = 64;
const rowsMin = 3;
const signs = [',', '\t', ';', '|'];

/**
 * Each column as a text with one value per line, so that its line numbers are those of the file (if
 * no value contains a line end). Returns no columns for a file with a single one, or that is not a
 * table.
 */
export function splitColumns(name: string, bytes: Uint8Array): readonly Uint8Array[] {
  if (!named.test(name)) return [];
  const lines = Buffer.from(bytes).toString('latin1').split(/\r?\n/);
  if (lines.length < rowsMin) return [];
  const [first = ''] = lines;
  const countIn = (sign: string): number => first.split(sign).length - 1;
  const [sign = ','] = signs.toSorted((a, b) => countIn(b) - countIn(a));
  const count = countIn(sign) + 1;
  if (count < 2 || count > columnsMax) return [];
  const columns = Array.from({ length: count }, (): string[] => []);
  for (const line of lines) {
    const values = valuesOf(line, sign);
    for (const [at, column] of columns.entries()) column.push(values[at] ?? '');
  }
  return columns.map((column) => Buffer.from(column.join('\n'), 'latin1'));
}

/** Values of one line, without their quotes. */
function valuesOf(line: string, sign: string): string[] {
  if (!line.includes('"')) return line.split(sign);
  const values: string[] = [];
  let [value, isQuoted] = ['', false];
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at] ?? '';
    if (char === '"' && isQuoted && line[at + 1] === '"') {
      value += char;
      at += 1;
    } else if (char === '"') {
      isQuoted = !isQuoted;
    } else if (char === sign && !isQuoted) {
      values.push(value);
      value = '';
    } else {
      value += char;
    }
  }
  return [...values, value];
}
