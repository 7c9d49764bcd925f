/** A policy that cannot be used. */
import { FileError, type FileProblem } from '../../yaml/file-error.ts';

/** Nothing of the file may be used. */
export class PolicyError extends FileError {
  constructor(file: string, problems: readonly FileProblem[], options: ErrorOptions = {}) {
    super(file, problems, { ...options, what: 'policy' });
  }
}
