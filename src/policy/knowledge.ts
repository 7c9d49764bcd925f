/** Which knowledge of commands decides: part of the version of every policy. */
import { allowed } from './commands/data/allowed.ts';
import { knowledge } from './commands/table.ts';
import { digestOf } from './policy.ts';

let version: string | null = null;

/** SHA-256 (hex) of all that is known about commands: blocks, wrappers and the short list. */
export function knowledgeVersion(): string {
  version ??= digestOf([knowledge, allowed]);
  return version;
}
