/** The checker as one Python program: the tables first, then its parts in the order of use. */
import { calls } from './calls.ts';
import { expressions } from './expressions.ts';
import { start } from './start.ts';
import { statements } from './statements.ts';
import { tables } from './tables.ts';
import { values } from './values.ts';

/** The tables are strings, lists and objects only, whose JSON is Python, too. */
export const program = [
  `T = ${JSON.stringify(tables)}`,
  values,
  statements,
  expressions,
  calls,
  start,
].join('\n');
