/** The checker as one Python program: the tables first, then its parts in the order of use. */
import { pythonCallsSource } from './calls.ts';
import { pythonExpressionsSource } from './expressions.ts';
import { pythonStartSource } from './start.ts';
import { pythonStatementsSource } from './statements.ts';
import { pythonCheckerTables } from './tables.ts';
import { pythonValuesSource } from './values.ts';

/** The tables are strings, lists and objects only, whose JSON is Python, too. */
export const pythonCheckerProgram = [
  `T = ${JSON.stringify(pythonCheckerTables)}`,
  pythonValuesSource,
  pythonStatementsSource,
  pythonExpressionsSource,
  pythonCallsSource,
  pythonStartSource,
].join('\n');
