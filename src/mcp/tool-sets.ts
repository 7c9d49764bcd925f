/** Which tools a server offers. */

export const toolSets = ['all', 'general', 'strict'] as const;
/**
 * `general`: without the strict tools. `strict`: all of them, and the general ones pass `guarded`,
 * too.
 */
export type ToolSet = (typeof toolSets)[number];

/** They pass `guarded` in every set. */
const strict: ReadonlySet<string> = new Set(['terminal_exec', 'python_rpc']);

export const isInToolSet = (set: ToolSet, name: string): boolean =>
  set !== 'general' || !strict.has(name);
