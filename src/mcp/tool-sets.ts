/** Which tools a server offers. */

export const toolSets = ['all', 'general', 'strict'] as const;
/**
 * `general`: without the strict tools. `strict`: all of them, and the general ones must also pass
 * `guarded`.
 */
export type ToolSet = (typeof toolSets)[number];

/** They must pass `guarded` in every set. */
const strict: ReadonlySet<string> = new Set(['terminal_exec', 'python_rpc']);

export const isInToolSet = (set: ToolSet, name: string): boolean =>
  set !== 'general' || !strict.has(name);
