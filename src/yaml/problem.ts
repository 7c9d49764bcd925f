/** What is wrong with a file that a person wrote, and where. */
import { TrlError } from '../errors.ts';
import { escapeOf } from '../hidden.ts';

export interface Problem {
  /** Both from 1; the column counts UTF-16 units. */
  readonly line: number;
  readonly column: number;
  /** `unknown key "comands"; did you mean "commands"?` */
  readonly message: string;
}

const shownMax = 5;

/** A file that cannot be used. Nothing of it may be. */
export class FileError extends TrlError {
  /** The file, as it was named. */
  readonly file: string;
  /** At least one, in the order of the file. */
  readonly problems: readonly Problem[];

  /** @param options.what what the file was to be: `policy`, `configuration` */
  constructor(
    file: string,
    problems: readonly Problem[],
    { what = 'file', ...options }: ErrorOptions & { readonly what?: string } = {},
  ) {
    // Keys and values are the file's own: none of them may break a line or hide in it.
    const shown = problems.map((one) => ({ ...one, message: oneLine(one.message) }));
    const lines = shown.map((one) => showProblem(file, one));
    const more = lines.length > shownMax ? `; and ${lines.length - shownMax} more` : '';
    const message = `Cannot use the ${what}: ${lines.slice(0, shownMax).join('; ')}${more}`;
    super('INVALID_PARAMS', message, { ...options, data: { file, problems: shown } });
    this.file = file;
    this.problems = shown;
  }
}

/** The class of error that a reader throws. */
export type Failure = new (
  file: string,
  problems: readonly Problem[],
  options?: ErrorOptions,
) => FileError;

/** Control characters and what shows nothing, a line's end too, are written as `\u{A}`. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, escapeOf);
}

/** `policy.yaml:3:5: unknown key "comands"` */
export function showProblem(file: string, { line, column, message }: Problem): string {
  return `${file}:${line}:${column}: ${message}`;
}
