/** Whether users' patterns can be used, by whoever knows their language. Pure. */
import { isTrlError, TrlError } from '../errors.ts';
import type { SecretPatternSetting } from './configuration.ts';

/**
 * Tries each pattern, then all together, so that one that cannot be used stops the start and not
 * the first command.
 *
 * @param compile throws TrlError for patterns that cannot be used
 * @throws TrlError `INVALID_PARAMS` with file, line and column
 */
export function checkSecretPatterns(
  patterns: readonly SecretPatternSetting[],
  compile: (patterns: readonly SecretPatternSetting[]) => unknown,
): void {
  for (const pattern of patterns) attempt(pattern.place, () => compile([pattern]));
  const [first] = patterns;
  if (first !== undefined) attempt(first.place, () => compile(patterns));
}

function attempt(place: string, compile: () => unknown): void {
  try {
    compile();
  } catch (cause) {
    if (!isTrlError(cause)) throw cause;
    const message = `Cannot use the configuration: ${place}: ${cause.message}`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
