/** A policy that cannot be used. */
import { FileError, type Problem } from '../../yaml/problem.ts';

/** Nothing of the file may be used. */
export class PolicyError extends FileError {
  constructor(file: string, problems: readonly Problem[], options: ErrorOptions = {}) {
    super(file, problems, { ...options, what: 'policy' });
  }
}
