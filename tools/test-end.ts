/**
 * Loaded before each test file: ends the child processes that its tests left, as a failed test
 * does. They would hold the file's output open, and with it the whole run.
 */
import { readdirSync, readFileSync } from 'node:fs';

function children(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    );
  } catch {
    return [];
  }
}

process.once('exit', () => {
  for (const pid of children()) {
    try {
      process.kill(pid);
    } catch {
      // It has ended by itself.
    }
  }
});
