/**
 * Every verb of the command line. Parsing, help, completions and the tables of docs/cli.md are
 * derived from these rows.
 */
import type { Verb, VerbSection } from './verb.ts';
import { peopleSections } from './verbs-people.ts';
import { runtimeSections } from './verbs-runtime.ts';
import { workSections } from './verbs-work.ts';

export const verbSections: readonly VerbSection[] = [
  ...workSections,
  ...peopleSections,
  ...runtimeSections,
];

/** Rows by name, such as `session list`. */
export const verbs: ReadonlyMap<string, Verb> = new Map(
  verbSections.flatMap((section) =>
    Object.entries(section.verbs).map(([name, verb]): [string, Verb] => [
      name,
      { words: '', examples: [], ...verb, flags: [...verb.flags, 'help'] },
    ]),
  ),
);

/** The first words of names that have two: `session`, `exec`. */
export const verbGroups: ReadonlySet<string> = new Set(
  [...verbs.keys()].filter((name) => name.includes(' ')).map((name) => name.replace(/ .*/, '')),
);

/** The second words of a group's verbs. */
export const verbsOfGroup = (group: string): string[] =>
  [...verbs.keys()].flatMap((name) =>
    name.startsWith(`${group} `) ? [name.slice(group.length + 1)] : [],
  );
