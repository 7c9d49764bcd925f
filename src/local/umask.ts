import { readFileSync } from 'node:fs';

/** What a runtime takes where nobody says it. */
const usual = '022';

/**
 * The file mode mask of this process, for the sessions that it makes; `undefined`: the usual one.
 * Not by `process.umask()`, which sets it for a moment.
 */
export function readProcessUmask(): string | undefined {
  try {
    const digits = /^Umask:\s*0*([0-7]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    const umask = digits?.padStart(3, '0');
    return umask === usual ? undefined : umask;
  } catch {
    return undefined;
  }
}
