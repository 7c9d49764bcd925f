/** Why a script is not simply one plain command, for people. */
const reasons = new Map([
  ['unparseable', 'cannot be read as a script'],
  ['dynamic', 'depends on values that are known only while it runs'],
  ['several', 'has several statements'],
  ['redirect', 'reads or writes a file by a redirect'],
  ['assignment', 'sets a variable'],
  ['compound', 'is more than a simple command'],
  ['function', 'defines a function'],
  ['alias', 'defines an alias'],
  ['background', 'goes on in the background'],
  ['substitution', 'puts the output of a command into another'],
  ['negation', 'turns the exit code round'],
  ['time', 'measures time'],
  ['invisible', 'holds characters that cannot be seen'],
  ['confusable', 'holds letters that look like others'],
  ['empty', 'holds no command'],
  ['limit.bytes', 'is too long to be read whole'],
  ['limit.nesting', 'is nested too deeply to be read'],
  ['limit.commands', 'holds too many commands to be read'],
  ['limit.braces', 'expands to too many words to be read'],
  ['limit.time', 'took too long to be read'],
]);

/** One clause for a problem of the syntax. */
export function explainSyntaxProblem(code: string): string {
  return reasons.get(code) ?? 'is not one plain command';
}
