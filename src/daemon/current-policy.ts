/** The policy of a daemon: read at the start, and anew when SIGHUP asks for it. */
import path from 'node:path';
import { loadPolicy } from '../policy/files/load.ts';
import { isBaseName, type Policy } from '../policy/policy.ts';
import { version } from './version.ts';

export class CurrentPolicy {
  value: Policy;

  /**
   * @param chosen a shipped profile or a file; `null`: the user's file, else `auto`
   * @throws PolicyError when a file cannot be used: the daemon must not start with less
   */
  constructor(chosen: string | null, log: (text: string) => void) {
    const read = (): Policy => loadPolicy({ ...choiceOf(chosen), fallback: 'auto', version });
    this.value = read();
    process.on('SIGHUP', () => {
      try {
        this.value = read();
        log(`policy ${this.value.name} was read anew: ${this.value.version.slice(0, 12)}`);
      } catch (error) {
        log(
          `the policy stays as it was: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    });
  }
}

function choiceOf(chosen: string | null): Pick<Parameters<typeof loadPolicy>[0], 'chosen'> {
  if (chosen === null) return {};
  return { chosen: isBaseName(chosen) ? { base: chosen } : { file: path.resolve(chosen) } };
}
