/** Which knowledge of commands decides: part of the version of every policy. */
import { createHash } from 'node:crypto';
import { allowRules } from './commands/data/allowed.ts';
import { commandKnowledge } from './commands/table.ts';

let version: string | null = null;

/**
 * SHA-256 (hex) of all that is known about commands: blocks, wrappers and the short list, as the
 * source orders them. Each start asks for it.
 */
export function knowledgeVersion(): string {
  version ??= createHash('sha256')
    .update(JSON.stringify([commandKnowledge, allowRules]))
    .digest('hex');
  return version;
}
