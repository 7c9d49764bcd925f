/** What is wrong with a file that a person wrote, and where. */
import { TrlError } from '../errors.ts';
import { unicodeEscape } from '../hidden-characters.ts';

export interface FileProblem {
  /** Both from 1; the column counts UTF-16 units. */
  readonly line: number;
  readonly column: number;
  /** `unknown key "comands"; did you mean "commands"?` */
  readonly message: string;
}

const shownMax = 5;

/** A file that cannot be used, not even in part. */
export class FileError extends TrlError {
  /** The file, as it was named. */
  readonly file: string;
  /** At least one, in the order of the file. */
  readonly problems: readonly FileProblem[];

  /** @param options.what what the file was to be: `policy`, `configuration` */
  constructor(
    file: string,
    problems: readonly FileProblem[],
    { what = 'file', ...options }: ErrorOptions & { readonly what?: string } = {},
  ) {
    // Keys and values are the file's own: none of them may break a line or hide in it.
    const shown = problems.map((one) => ({ ...one, message: oneLine(one.message) }));
    const lines = shown.map((one) => formatFileProblem(file, one));
    const more = lines.length > shownMax ? `; and ${lines.length - shownMax} more` : '';
    const message = `Cannot use the ${what}: ${lines.slice(0, shownMax).join('; ')}${more}`;
    super('INVALID_PARAMS', message, { ...options, data: { file, problems: shown } });
    this.file = file;
    this.problems = shown;
  }
}

/** The class of error that a reader throws. */
export type FileErrorClass = new (
  file: string,
  problems: readonly FileProblem[],
  options?: ErrorOptions,
) => FileError;

/** Control characters and what shows nothing, a line's end too, are written as `\u{A}`. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, unicodeEscape);
}

/** `policy.yaml:3:5: unknown key "comands"` */
export function formatFileProblem(file: string, { line, column, message }: FileProblem): string {
  return `${file}:${line}:${column}: ${message}`;
}
