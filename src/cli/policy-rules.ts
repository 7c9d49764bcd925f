/** `trl policy rules`: what answers for a project let run. No daemon is needed. */
import path from 'node:path';
import { LastingRules, lastingRulesFile, ruleText } from '../approval/lasting.ts';
import { configDirectory } from '../policy/files/places.ts';
import { usage } from './args.ts';
import type { Args } from './args.ts';
import { say, sayJson, sayTable } from './show.ts';
import { visible } from './visible.ts';

/** `trl policy rules [remove ID]`; the start of an id is enough. */
export async function rules(args: Args): Promise<number> {
  const kept = new LastingRules(path.join(configDirectory(), lastingRulesFile));
  const [verb, id, unwanted] = args.words;
  if (verb === undefined) return list(kept, args);
  if (verb !== 'remove' || id === undefined || unwanted !== undefined) {
    throw usage('policy rules', 'nothing, or: remove ID');
  }
  const removed = kept.remove(id);
  if (args.has('json')) sayJson(removed);
  else say(`${removed.id} is removed: ${visible(ruleText(removed.of))}`);
  return 0;
}

function list(kept: LastingRules, args: Args): number {
  const found = kept.list();
  if (args.has('json')) {
    sayJson({ rules: found.map((rule) => ({ ...rule, text: ruleText(rule.of) })) });
    return 0;
  }
  const rows = found.map(({ id, created_at: at, by, of }) => [
    id,
    at,
    visible(by),
    // The last column, and never cut.
    visible(ruleText(of)),
  ]);
  sayTable(['RULE', 'SINCE', 'ANSWERED BY', 'WHAT'], rows);
  return 0;
}
