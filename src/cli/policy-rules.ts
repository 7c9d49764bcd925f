/** `trl policy rules`: what answers for a project let run. No daemon is needed. */
import path from 'node:path';
import { LastingRules, lastingRulesFile, ruleText } from '../approval/lasting-rules.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { printMessage, printJson, printTable } from './print.ts';
import { escapeHiddenText } from './escape-text.ts';

/** `trl policy rules [remove ID]`; the start of an id is enough. */
export async function runPolicyRules(args: CliArguments): Promise<number> {
  const kept = new LastingRules(path.join(configDirectory(), lastingRulesFile));
  const [verb, id, unwanted] = args.words;
  if (verb === undefined) return list(kept, args);
  if (verb !== 'remove' || id === undefined || unwanted !== undefined) {
    throw usageError('policy rules', 'nothing, or: remove ID');
  }
  const removed = kept.remove(id);
  if (args.has('json')) printJson(removed);
  else printMessage(`${removed.id} is removed: ${escapeHiddenText(ruleText(removed.of))}`);
  return 0;
}

function list(kept: LastingRules, args: CliArguments): number {
  const found = kept.list();
  if (args.has('json')) {
    printJson({ rules: found.map((rule) => ({ ...rule, text: ruleText(rule.of) })) });
    return 0;
  }
  const rows = found.map(({ id, created_at: at, by, of }) => [
    id,
    at,
    escapeHiddenText(by),
    // The last column, and never cut.
    escapeHiddenText(ruleText(of)),
  ]);
  printTable(['RULE', 'SINCE', 'ANSWERED BY', 'WHAT'], rows);
  return 0;
}
