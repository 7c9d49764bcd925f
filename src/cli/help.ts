/** What `trl help` and `--help` print. */
import { nearestWord } from '../nearest-word.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { flagDefinitions, flagUsage } from './flags.ts';
import type { Verb, VerbRow } from './verb.ts';
import { verbGroups, verbSections, verbs, verbsOfGroup } from './verbs.ts';

const exitCodes = `Exit codes: the command's own; 124 timeout, 125 the runtime failed, 126 refused,
127 command not found, 128+N ended by signal N.`;

/** `trl help`, `trl help VERB`, `trl help GROUP` and `trl help GROUP VERB`. */
export async function runHelp(args: CliArguments): Promise<number> {
  process.stdout.write(helpOn(args.words));
  return 0;
}

/** @throws TrlError INVALID_PARAMS if no verb or group has this name */
function helpOn(words: readonly string[]): string {
  const name = words.join(' ');
  const verb = verbs.get(name);
  if (verb !== undefined) return verbHelp(name, verb);
  if (name === '') return overallHelp();
  if (verbGroups.has(name)) return groupHelp(name);
  throw unknownVerbError(words);
}

export function overallHelp(): string {
  const sections = verbSections.map(
    ({ title, verbs: rows }) => `${title}:\n${columns(Object.entries(rows).map(row))}`,
  );
  return `trl runs commands for AI agents in a sandbox and reports exactly what happened.

Usage: trl VERB [FLAG…]

${sections.join('\n\n')}

"trl help VERB" shows the flags and examples of a verb; "trl --version" shows the version.

${exitCodes}
`;
}

export function verbHelp(name: string, verb: Verb): string {
  const { words, about, details, flags, examples } = verb;
  const rows = flags.map((flag) => [flagUsage(flag), flagDefinitions[flag].about] as const);
  const parts = [
    about,
    `Usage: trl ${name} [FLAG…] ${words}`.trimEnd(),
    ...(details === undefined ? [] : [details]),
    columns(rows),
  ];
  if (examples.length > 0) {
    parts.push(`Examples:\n${examples.map((example) => `  ${example}`).join('\n')}`);
  }
  if (name === 'run') parts.push(exitCodes);
  // A verb can be the name of a group, too: `mcp`.
  if (verbGroups.has(name)) parts.push(`More verbs:\n${columns(groupRows(name))}`);
  return `${parts.join('\n\n')}\n`;
}

/** Help of the verbs that begin with `group`, such as `session`. */
export const groupHelp = (group: string): string =>
  `Usage: trl ${group} VERB [FLAG…]\n\n${columns(groupRows(group))}\n`;

const groupRows = (group: string): (readonly [string, string])[] =>
  [...verbs].filter(([name]) => name.startsWith(`${group} `)).map(row);

/** Names the verb that was probably meant. */
export function unknownVerbError([first = '', second = '']: readonly string[]) {
  if (verbGroups.has(first) && second !== '') {
    const near = nearestWord(second, verbsOfGroup(first));
    const hint = near === null ? '' : `; did you mean "${first} ${near}"?`;
    return usageError(`${first} ${second}`, `there is no such verb${hint}`);
  }
  const near = nearestWord(
    first,
    [...verbs.keys()].map((name) => name.replace(/ .*/, '')),
  );
  const hint = near === null ? 'see: trl help' : `did you mean "${near}"?`;
  return usageError(first, `there is no such verb; ${hint}`);
}

const row = ([name, { words = '', about }]: readonly [string, VerbRow]): readonly [
  string,
  string,
] => [`${name} ${words}`.trimEnd(), about];

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
}
